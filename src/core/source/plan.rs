//! What a call does, decided before it begins: call before source before priority before built-in.

use super::super::Nanos;
use super::super::error::OptionError;
use super::super::hedge::budget::{DEFAULT_BURST, HedgeBudget, Ratio};
use super::super::hedge::gate::Gate;
use super::super::hedge::window::WindowOptions;
use super::failover::Policy;
use super::options::{CallOptions, HedgeDelay, HedgeOptions, Override, RetryOptions, SourceOptions, check};
use super::priority::{Preset, Priority};

const MS: Nanos = 1_000_000;

/// How many attempts an operation may have when nobody says.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 3;
/// What `"auto"` waits while it knows too little, when nobody says.
pub const DEFAULT_INITIAL_DELAY_MS: u32 = 200;
/// Upper bound of the first backoff when nobody says.
pub const DEFAULT_BASE_DELAY_MS: f64 = 50.0;
/// Upper bound of every backoff when nobody says.
pub const DEFAULT_MAX_DELAY_MS: f64 = 1_000.0;

/// What one operation does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How long it may take.
    pub timeout: Option<Nanos>,
    /// How many attempts it may have, hedges, failovers and retries together.
    pub max_attempts: u32,
    /// How it hedges.
    pub hedge: Option<HedgePlan>,
    /// How it fails over.
    pub failover: Option<FailoverPlan>,
    /// How it retries.
    pub retry: Option<RetryPlan>,
}

/// How an operation hedges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgePlan {
    /// When; `None`: after the window's quantile.
    pub delay: Option<Nanos>,
    /// When, while the window is cold or idle.
    pub initial_delay: Nanos,
    /// How often.
    pub max_hedges: u32,
    /// Whether losers are cancelled.
    pub cancel_loser: bool,
}

/// How an operation fails over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailoverPlan {
    /// Which endpoint comes next.
    pub policy: Policy,
    /// Whether endpoints with an open breaker are left out.
    pub respect_circuit_breaker: bool,
}

/// How an operation retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    /// Upper bound of the first backoff.
    pub base: Nanos,
    /// Upper bound of every backoff.
    pub max: Nanos,
}

/// What all calls of a source share in hedging, made from its options.
pub(super) struct Shared {
    pub(super) budget: HedgeBudget,
    pub(super) gate: Gate,
    pub(super) asks: bool,
    pub(super) window: WindowOptions,
}

impl Plan {
    /// What a call does that names `call`, of a source that was defined with `source`.
    ///
    /// # Errors
    /// When an option is out of range, or turns a policy on that the source must not have. Each call's
    /// options are checked, also those that would not be used.
    pub fn new(source: &SourceOptions, call: &CallOptions) -> Result<Self, OptionError> {
        let preset = call.priority.or(source.priority).map(Priority::preset);
        let timeout_ms = call
            .timeout_ms
            .or(source.timeout_ms)
            .or(preset.map(|preset| f64::from(preset.timeout_ms)));
        let timeout = timeout_ms.map(|ms| check::time("timeoutMs", ms)).transpose()?;
        let plan = Self {
            timeout,
            max_attempts: max_attempts(source, call, preset)?,
            hedge: hedge(source, call, preset, timeout_ms)?,
            failover: named(call.failover, source.failover).map(|(first, then)| FailoverPlan {
                policy: first.policy.or(then.policy).unwrap_or(Policy::Sequential),
                respect_circuit_breaker: first
                    .respect_circuit_breaker
                    .or(then.respect_circuit_breaker)
                    .unwrap_or(true),
            }),
            retry: named(call.retry, source.retry)
                .map(|(first, then)| retry(&first, &then))
                .transpose()?,
        };
        plan.check_idempotent(source.idempotent)?;
        Ok(plan)
    }

    fn check_idempotent(&self, idempotent: bool) -> Result<(), OptionError> {
        let policies = [
            ("hedge", self.hedge.is_some()),
            ("failover", self.failover.is_some()),
            ("retry", self.retry.is_some()),
        ];
        match policies.into_iter().find(|(_, on)| *on && !idempotent) {
            Some((policy, _)) => Err(OptionError::NotIdempotent { policy }),
            None => Ok(()),
        }
    }
}

/// A call's options of a policy and the source's, when the policy is on.
fn named<T: Copy + Default>(call: Override<T>, source: Option<T>) -> Option<(T, T)> {
    match call {
        Override::Off => None,
        Override::Inherit => source.map(|source| (T::default(), source)),
        Override::With(call) => Some((call, source.unwrap_or_default())),
    }
}

fn max_attempts(source: &SourceOptions, call: &CallOptions, preset: Option<Preset>) -> Result<u32, OptionError> {
    let (first, then) = match call.retry {
        // Without a retry, the source's number still counts its hedges and failovers.
        Override::Off | Override::Inherit => (None, source.retry),
        Override::With(retry) => (Some(retry), source.retry),
    };
    let of = |retry: Option<RetryOptions>| retry.and_then(|retry| retry.max_attempts);
    match of(first).or(of(then)) {
        Some(number) => check::count("retry.maxAttempts", number),
        None => Ok(preset.map_or(DEFAULT_MAX_ATTEMPTS, |preset| preset.max_attempts)),
    }
}

fn retry(first: &RetryOptions, then: &RetryOptions) -> Result<RetryPlan, OptionError> {
    let base_ms = first.base_delay_ms.or(then.base_delay_ms);
    let max_ms = first.max_delay_ms.or(then.max_delay_ms).unwrap_or(DEFAULT_MAX_DELAY_MS);
    let max = check::wait("retry.maxDelayMs", max_ms)?;
    let base = check::wait("retry.baseDelayMs", base_ms.unwrap_or(DEFAULT_BASE_DELAY_MS))?;
    match base_ms {
        Some(value) if value > max_ms => Err(OptionError::BaseAboveMax { max_ms, value }),
        _ => Ok(RetryPlan {
            base: base.min(max),
            max,
        }),
    }
}

fn hedge(
    source: &SourceOptions,
    call: &CallOptions,
    preset: Option<Preset>,
    timeout_ms: Option<f64>,
) -> Result<Option<HedgePlan>, OptionError> {
    if let Override::With(hedge) = &call.hedge {
        check_not_shared(hedge)?;
    }
    let Some((first, then)) = named(call.hedge, source.hedge) else {
        return Ok(None);
    };
    let preset_ms = preset.map(|preset| preset.hedge_delay_ms);
    // Later than the timeout is a mistake where it is written; a call with less time than usual has just no hedge.
    let written_here = matches!(call.hedge, Override::Inherit) && call.timeout_ms.is_none() && call.priority.is_none();
    let below_timeout = |option, named_here: Option<f64>, value: f64| match timeout_ms {
        Some(limit_ms) if value >= limit_ms && (written_here || named_here.is_some()) => {
            Err(OptionError::BeyondLimit {
                option,
                limit: "timeoutMs",
                limit_ms,
                value,
            })
        }
        _ => Ok(()),
    };
    let fixed = |options: &HedgeOptions| match options.delay {
        Some(HedgeDelay::Fixed(ms)) => Some(ms),
        _ => None,
    };
    let delay = match (first.delay.or(then.delay), preset_ms) {
        (Some(HedgeDelay::Fixed(ms)), _) => {
            let delay = check::time("hedge.delayMs", ms)?;
            below_timeout("hedge.delayMs", fixed(&first), ms)?;
            Some(delay)
        }
        (None, Some(ms)) => Some(u64::from(ms) * MS),
        (Some(HedgeDelay::Auto) | None, _) => None,
    };
    let initial_delay = match first.initial_delay_ms.or(then.initial_delay_ms) {
        Some(ms) => {
            let delay = check::time("hedge.initialDelayMs", ms)?;
            below_timeout("hedge.initialDelayMs", first.initial_delay_ms, ms)?;
            delay
        }
        None => u64::from(preset_ms.unwrap_or(DEFAULT_INITIAL_DELAY_MS)) * MS,
    };
    let max_hedges = first.max_hedges.or(then.max_hedges);
    Ok(Some(HedgePlan {
        delay,
        initial_delay,
        max_hedges: max_hedges.map_or(Ok(1), |number| check::count("hedge.maxHedges", number))?,
        cancel_loser: first.cancel_loser.or(then.cancel_loser).unwrap_or(true),
    }))
}

/// One call's window, budget or gate would be everybody's.
fn check_not_shared(hedge: &HedgeOptions) -> Result<(), OptionError> {
    let shared = [
        ("hedge.quantile", hedge.quantile),
        ("hedge.windowMs", hedge.window_ms),
        ("hedge.minSamples", hedge.min_samples),
        ("hedge.minDelayMs", hedge.min_delay_ms),
        ("hedge.budget.ratio", hedge.budget.ratio),
        ("hedge.budget.burst", hedge.budget.burst),
        ("hedge.maxInFlight", hedge.max_in_flight),
        ("hedge.gate", hedge.gate.then_some(1.0)),
    ];
    match shared.into_iter().find_map(|(option, value)| Some((option, value?))) {
        Some((option, value)) => Err(OptionError::SharedByCalls { option, value }),
        None => Ok(()),
    }
}

impl Shared {
    pub(super) fn new(hedge: &HedgeOptions) -> Result<Self, OptionError> {
        let ratio = hedge.budget.ratio;
        let ratio = ratio.map_or(Ok(Ratio::default()), |ratio| Ratio::new("hedge.budget.ratio", ratio))?;
        let burst = hedge.budget.burst;
        let burst = burst.map_or(Ok(DEFAULT_BURST), |burst| check::count("hedge.budget.burst", burst))?;
        let limit = hedge.max_in_flight;
        let limit = limit
            .map(|limit| check::count("hedge.maxInFlight", limit))
            .transpose()?;
        // A lower quantile asks for more hedges than the budget has, and then it is chance who gets one.
        let least = 1.0 - ratio.get();
        let quantile = hedge
            .quantile
            .map_or(Ok(least), |q| check::quantile("hedge.quantile", q))?;
        let mut window = WindowOptions::new(quantile.max(least));
        if let Some(ms) = hedge.window_ms {
            window.length = check::time("hedge.windowMs", ms)?;
        }
        if let Some(number) = hedge.min_samples {
            window.min_samples = u64::from(check::count("hedge.minSamples", number)?);
        }
        if let Some(ms) = hedge.min_delay_ms {
            window.floor = check::time("hedge.minDelayMs", ms)?;
        }
        Ok(Self {
            budget: HedgeBudget::new(ratio, burst),
            gate: Gate::new(limit),
            asks: hedge.gate,
            window,
        })
    }
}

#[cfg(test)]
mod tests;
