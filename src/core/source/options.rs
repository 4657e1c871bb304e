//! What sources and calls are given, as it was given: milliseconds, and nothing checked yet.

use super::super::Nanos;
use super::failover::Policy;
use super::priority::Priority;

/// What a source is defined with.
#[derive(Clone, Debug, Default)]
pub struct SourceOptions {
    /// How many endpoints it has, at least one. Their order is preference.
    pub endpoints: usize,
    /// Whether calling it twice does what calling it once does. Hedge, failover and retry need it.
    pub idempotent: bool,
    /// How long an operation may take, with all of its attempts, in milliseconds. Default: the
    /// priority's; for ever when there is none.
    pub timeout_ms: Option<f64>,
    /// Presets for what is not named. Default: none.
    pub priority: Option<Priority>,
    /// One more attempt when an answer is late. Default: off.
    pub hedge: Option<HedgeOptions>,
    /// Another endpoint when an attempt failed. Default: off.
    pub failover: Option<FailoverOptions>,
    /// One more attempt, after a while, when an attempt failed. Default: off.
    pub retry: Option<RetryOptions>,
    /// Whether each endpoint has a breaker. Default: off.
    pub breaker: bool,
    /// Seed of jitter and of random failover.
    pub seed: u64,
}

/// When a hedge starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HedgeDelay {
    /// After so many milliseconds.
    Fixed(f64),
    /// After the window's quantile.
    Auto,
}

/// How a source hedges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HedgeOptions {
    /// When the hedge starts. Default: the priority's delay; `Auto` when there is none.
    pub delay: Option<HedgeDelay>,
    /// Which quantile of the latencies `Auto` waits for. Default, and the least it can be: 1 - ratio.
    pub quantile: Option<f64>,
    /// How far back `Auto` looks, in milliseconds. Default: 60,000.
    pub window_ms: Option<f64>,
    /// How many calls `Auto` must have seen in the window. Default: 100.
    pub min_samples: Option<f64>,
    /// The least that `Auto` waits, in milliseconds. Default: 1.
    pub min_delay_ms: Option<f64>,
    /// What `Auto` waits while the window is cold or idle, in milliseconds. Default: the priority's
    /// delay; 200 when there is none.
    pub initial_delay_ms: Option<f64>,
    /// How many hedges an operation may have. Default: 1.
    pub max_hedges: Option<f64>,
    /// Whether the attempts that lost are cancelled. Default: true.
    pub cancel_loser: Option<bool>,
    /// How many hedges the calls earn.
    pub budget: BudgetOptions,
    /// Whether the caller is asked before each hedge: see [`super::Action::AskGate`]. Default: false.
    pub gate: bool,
    /// No hedge starts while 80 % of so many attempts, hedges not counted, are under way. Default: no
    /// limit.
    pub max_in_flight: Option<f64>,
}

/// How many hedges the calls earn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetOptions {
    /// Hedges for each primary, at most 0.15. Default: 0.10.
    pub ratio: Option<f64>,
    /// How many hedges can be saved up. Default: 10.
    pub burst: Option<f64>,
}

/// How a source fails over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailoverOptions {
    /// Which of the others comes next. Default: sequential.
    pub policy: Option<Policy>,
    /// Whether endpoints with an open breaker are left out. Default: true.
    pub respect_circuit_breaker: Option<bool>,
}

/// How a source retries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RetryOptions {
    /// How many attempts an operation may have, of whatever kind. Default: the priority's; 3 when
    /// there is none.
    pub max_attempts: Option<f64>,
    /// Upper bound of the first wait, in milliseconds. It doubles with each retry. Default: 50.
    pub base_delay_ms: Option<f64>,
    /// Upper bound of every wait, in milliseconds. Default: 1,000.
    pub max_delay_ms: Option<f64>,
}

/// What a call has to say about a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Override<T> {
    /// Nothing: as for the source.
    #[default]
    Inherit,
    /// Not for this call.
    Off,
    /// On, with these options before the source's.
    With(T),
}

/// What one call is given. Everything not named is the source's.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// Presets for what neither call nor source name.
    pub priority: Option<Priority>,
    /// How long the operation may take, in milliseconds.
    pub timeout_ms: Option<f64>,
    /// How it hedges. Window, budget and gate stay the source's.
    pub hedge: Override<HedgeOptions>,
    /// How it fails over.
    pub failover: Override<FailoverOptions>,
    /// How it retries.
    pub retry: Override<RetryOptions>,
}

/// The longest time a timer can be set to, in milliseconds.
const MAX_MS: f64 = 2_147_483_647.0;

pub(super) mod check {
    //! Numbers from outside, checked by name.

    use super::super::super::error::OptionError;
    use super::{MAX_MS, Nanos};

    fn out_of_range<T>(option: &'static str, rule: &'static str, value: f64) -> Result<T, OptionError> {
        Err(OptionError::OutOfRange { option, rule, value })
    }

    /// Milliseconds above 0, as nanoseconds.
    pub fn time(option: &'static str, ms: f64) -> Result<Nanos, OptionError> {
        if ms > 0.0 && ms <= MAX_MS {
            return Ok(nanos(ms).max(1));
        }
        out_of_range(option, "a number above 0 and at most 2147483647", ms)
    }

    /// Milliseconds from 0, as nanoseconds.
    pub fn wait(option: &'static str, ms: f64) -> Result<Nanos, OptionError> {
        if (0.0..=MAX_MS).contains(&ms) {
            return Ok(nanos(ms));
        }
        out_of_range(option, "a number from 0 to 2147483647", ms)
    }

    /// A whole number from 1 to `u32::MAX`.
    pub fn count(option: &'static str, value: f64) -> Result<u32, OptionError> {
        if value >= 1.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and in range"
            )]
            return Ok(value as u32);
        }
        out_of_range(option, "a whole number from 1 to 4294967295", value)
    }

    /// A number above 0 and below 1.
    pub fn quantile(option: &'static str, value: f64) -> Result<f64, OptionError> {
        if value > 0.0 && value < 1.0 {
            return Ok(value);
        }
        out_of_range(option, "a number above 0 and below 1", value)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: 2^31 milliseconds at most"
    )]
    fn nanos(ms: f64) -> Nanos {
        (ms * 1e6).round() as Nanos
    }
}
