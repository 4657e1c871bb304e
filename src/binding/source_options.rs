//! What sources and their calls are given, as it crosses the boundary.

use napi_derive::napi;

use crate::core::error::OptionError;
use crate::core::source::{
    BudgetOptions, CallOptions, FailoverOptions, HedgeDelay, HedgeOptions, Override, Policy, Priority, RetryOptions,
    SourceOptions,
};

/// What a source is made with.
#[napi(object)]
pub struct SourceConfig {
    /// How many endpoints it has.
    pub endpoints: u32,
    /// Whether repeating a call is harmless.
    pub idempotent: bool,
    /// Whether each endpoint has a breaker.
    pub breaker: bool,
    /// Its policies.
    pub policies: PoliciesConfig,
    /// Seed of jitter and random failover.
    pub seed: f64,
    /// Whether JavaScript sets the clock.
    pub installed_clock: bool,
}

/// Policies of a source or of one call. A number is as it was given, checked by the core.
#[napi(object)]
pub struct PoliciesConfig {
    /// Its name.
    pub priority: Option<String>,
    /// Milliseconds.
    pub timeout_ms: Option<f64>,
    /// Absent: not named.
    pub hedge: Option<HedgeConfig>,
    /// Turned off.
    pub no_hedge: Option<bool>,
    /// Absent: not named.
    pub failover: Option<FailoverConfig>,
    /// Turned off.
    pub no_failover: Option<bool>,
    /// Absent: not named.
    pub retry: Option<RetryConfig>,
    /// Turned off.
    pub no_retry: Option<bool>,
}

/// How to hedge.
#[napi(object)]
pub struct HedgeConfig {
    /// Milliseconds.
    pub delay_ms: Option<f64>,
    /// The window's quantile instead.
    pub auto: Option<bool>,
    /// Below 1.
    pub quantile: Option<f64>,
    /// Milliseconds.
    pub window_ms: Option<f64>,
    /// Calls.
    pub min_samples: Option<f64>,
    /// Milliseconds.
    pub min_delay_ms: Option<f64>,
    /// Milliseconds.
    pub initial_delay_ms: Option<f64>,
    /// Hedges of one call.
    pub max_hedges: Option<f64>,
    /// Whether losers are cancelled.
    pub cancel_loser: Option<bool>,
    /// Hedges for each primary.
    pub ratio: Option<f64>,
    /// Hedges saved up.
    pub burst: Option<f64>,
    /// Whether JavaScript is asked before each hedge.
    pub asks_gate: Option<bool>,
    /// Attempts under way.
    pub max_in_flight: Option<f64>,
}

/// How to fail over.
#[napi(object)]
pub struct FailoverConfig {
    /// Its name.
    pub policy: Option<String>,
    /// Whether open breakers are left out.
    pub respect_circuit_breaker: Option<bool>,
}

/// How to retry.
#[napi(object)]
pub struct RetryConfig {
    /// Attempts of one call.
    pub max_attempts: Option<f64>,
    /// Milliseconds.
    pub base_delay_ms: Option<f64>,
    /// Milliseconds.
    pub max_delay_ms: Option<f64>,
}

impl From<HedgeConfig> for HedgeOptions {
    fn from(config: HedgeConfig) -> Self {
        let auto = config.auto.unwrap_or_default().then_some(HedgeDelay::Auto);
        Self {
            delay: config.delay_ms.map(HedgeDelay::Fixed).or(auto),
            quantile: config.quantile,
            window_ms: config.window_ms,
            min_samples: config.min_samples,
            min_delay_ms: config.min_delay_ms,
            initial_delay_ms: config.initial_delay_ms,
            max_hedges: config.max_hedges,
            cancel_loser: config.cancel_loser,
            budget: BudgetOptions {
                ratio: config.ratio,
                burst: config.burst,
            },
            gate: config.asks_gate.unwrap_or_default(),
            max_in_flight: config.max_in_flight,
        }
    }
}

impl From<FailoverConfig> for FailoverOptions {
    fn from(config: FailoverConfig) -> Self {
        Self {
            // JavaScript has checked the name.
            policy: config.policy.map(|policy| match policy.as_str() {
                "round-robin" => Policy::RoundRobin,
                "random" => Policy::Random,
                _ => Policy::Sequential,
            }),
            respect_circuit_breaker: config.respect_circuit_breaker,
        }
    }
}

impl From<RetryConfig> for RetryOptions {
    fn from(config: RetryConfig) -> Self {
        Self {
            max_attempts: config.max_attempts,
            base_delay_ms: config.base_delay_ms,
            max_delay_ms: config.max_delay_ms,
        }
    }
}

impl SourceConfig {
    /// The core's options.
    pub fn into_options(self) -> Result<SourceOptions, OptionError> {
        let policies = self.policies;
        Ok(SourceOptions {
            endpoints: self.endpoints as usize,
            idempotent: self.idempotent,
            timeout_ms: policies.timeout_ms,
            priority: policies.priority.as_deref().map(Priority::parse).transpose()?,
            hedge: policies.hedge.map(Into::into),
            failover: policies.failover.map(Into::into),
            retry: policies.retry.map(Into::into),
            breaker: self.breaker,
            seed: self.seed.to_bits(),
        })
    }
}

impl PoliciesConfig {
    /// The core's options of a call.
    pub fn into_call(self) -> Result<CallOptions, OptionError> {
        Ok(CallOptions {
            priority: self.priority.as_deref().map(Priority::parse).transpose()?,
            timeout_ms: self.timeout_ms,
            hedge: overriding(self.hedge, self.no_hedge),
            failover: overriding(self.failover, self.no_failover),
            retry: overriding(self.retry, self.no_retry),
        })
    }
}

fn overriding<C: Into<T>, T>(with: Option<C>, off: Option<bool>) -> Override<T> {
    match (with, off) {
        (Some(with), _) => Override::With(with.into()),
        (None, Some(true)) => Override::Off,
        (None, _) => Override::Inherit,
    }
}
