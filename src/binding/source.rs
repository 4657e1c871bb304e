//! Sources as JavaScript sees them.

#![expect(clippy::needless_pass_by_value, reason = "the macro hands arguments over by value")]

use std::rc::Rc;
use std::time::Instant;

use napi::bindgen_prelude::{Env, Float64Array, Unknown};
use napi_derive::napi;

use super::clock::{self, Clock};
use super::engine::float;
use super::raw;
use super::source_cell::{self, SourceCell, SourceEvent, SourceStep};
use super::source_options::{PoliciesConfig, SourceConfig};
use crate::core::Nanos;
use crate::core::error::OptionError;
use crate::core::source::breaker::BreakerState;
use crate::core::source::figures::{AttemptOutcome, HedgeEvent};
use crate::core::source::{AttemptKind, Plan, Source};

/// One source's rules, state and counters.
#[napi]
pub struct NativeSource {
    cell: Rc<SourceCell>,
}

/// A call that was begun.
#[napi(object)]
pub struct StartedCall {
    /// Its slot.
    pub slot: u32,
    /// How long it may take, in milliseconds; absent: for ever.
    pub timeout_ms: Option<f64>,
}

/// Facts of a source for `stats()`.
#[napi(object)]
pub struct SourceGauges {
    /// Milliseconds; absent when the source does not hedge.
    pub hedge_delay_ms: Option<f64>,
    /// Hedges that could start now.
    pub tokens: f64,
    /// Of each endpoint; empty without breakers.
    pub breakers: Vec<String>,
    /// Operations under way.
    pub pending: u32,
    /// Running attempts, without hedges.
    pub in_flight: u32,
    /// Timers that are set.
    pub timers: u32,
}

#[napi]
impl NativeSource {
    /// A source. Throws the core's words about a bad option, which begin with its name.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: SourceConfig) -> napi::Result<Self> {
        let clock = Clock::new(Instant::now(), config.installed_clock);
        let core = config.into_options().and_then(Source::new).map_err(refused)?;
        Ok(Self {
            cell: Rc::new(SourceCell::new(core, clock)),
        })
    }

    /// Makes the function that tells a step: `(first?: number, second?: number) => number`.
    #[napi(catch_unwind, ts_return_type = "(first?: number, second?: number) => number")]
    pub fn step_function<'env>(&self, env: &'env Env, step: SourceStep) -> napi::Result<Unknown<'env>> {
        raw::source_function(env, Rc::clone(&self.cell), source_cell::run(step))
    }

    /// A call with options of its own begins. `left_ms`: what is left of a deadline it was given.
    #[napi(catch_unwind)]
    pub fn start_with(&self, call: PoliciesConfig, left_ms: Option<f64>) -> napi::Result<StartedCall> {
        let call = call.into_call().map_err(refused)?;
        let plan = self.cell.core.borrow().plan_for(&call).map_err(refused)?;
        let slot = self.cell.start(plan, left_ms.map(clock::from_ms));
        Ok(StartedCall {
            slot,
            timeout_ms: timeout_ms(&plan),
        })
    }

    /// How long calls that name nothing but a priority may take, in milliseconds: none, high, normal,
    /// low. 0 is for ever.
    #[napi(catch_unwind)]
    pub fn timeouts(&self) -> Vec<f64> {
        (0..4)
            .map(|number| timeout_ms(&self.cell.plan(number)).unwrap_or_default())
            .collect()
    }

    /// When the timer is to fire, in milliseconds from now; absent: not at all.
    #[napi(catch_unwind)]
    pub fn timer_delay_ms(&self) -> Option<f64> {
        self.cell.delay().map(|(at, now)| clock::ms_until(at, now))
    }

    /// The event of the step that was taken.
    #[napi(catch_unwind)]
    pub fn event(&self) -> Option<SourceEvent> {
        self.cell.event()
    }

    /// Sets an installed clock, in milliseconds.
    #[napi(catch_unwind)]
    pub fn set_now(&self, ms: f64) {
        self.cell.clock.set(ms);
    }

    /// Names of what [`NativeSource::counters`] answers, in this order.
    #[napi(catch_unwind)]
    pub fn counter_names() -> Vec<Vec<String>> {
        let hedges = HedgeEvent::ALL
            .iter()
            .map(|(_, name)| vec!["hedge".into(), (*name).into()]);
        let attempts = AttemptKind::ALL.iter().flat_map(|(_, kind)| {
            AttemptOutcome::ALL
                .iter()
                .map(|(_, outcome)| vec!["attempt".into(), (*kind).into(), (*outcome).into()])
        });
        let started = AttemptKind::ALL
            .iter()
            .map(|(_, kind)| vec!["started".into(), (*kind).into()]);
        let rates = RATES.iter().map(|name| vec!["rate".into(), (*name).into()]);
        hedges.chain(attempts).chain(started).chain(rates).collect()
    }

    /// Everything counted, and the rates.
    #[napi(catch_unwind)]
    pub fn counters(&self) -> Float64Array {
        let core = self.cell.core.borrow();
        let figures = core.figures();
        let mut all = Vec::new();
        all.extend(
            HedgeEvent::ALL
                .iter()
                .map(|(event, _)| float(figures.hedge_total(*event))),
        );
        for (kind, _) in AttemptKind::ALL {
            all.extend(
                AttemptOutcome::ALL
                    .iter()
                    .map(|(outcome, _)| float(figures.attempt_total(kind, *outcome))),
            );
        }
        all.extend(
            AttemptKind::ALL
                .iter()
                .map(|(kind, _)| float(figures.started_total(*kind))),
        );
        let rates = figures.rates();
        all.extend([
            rates.hedge_attempt_rate,
            rates.hedge_win_rate,
            rates.hedge_race_win_ratio,
            rates.origin_overhead,
        ]);
        Float64Array::new(all)
    }

    /// Facts of this moment.
    #[napi(catch_unwind)]
    pub fn gauges(&self) -> SourceGauges {
        let now = self.cell.clock.now();
        let mut core = self.cell.core.borrow_mut();
        SourceGauges {
            hedge_delay_ms: core.hedge_delay(now).map(clock::as_ms),
            tokens: core.tokens(),
            breakers: core.breakers(now).map(|state| name_of(state).into()).collect(),
            pending: count(core.pending()),
            in_flight: core.in_flight(),
            timers: count(core.timers()),
        }
    }
}

const RATES: [&str; 4] = [
    "hedgeAttemptRate",
    "hedgeWinRate",
    "hedgeRaceWinRatio",
    "originOverhead",
];

fn refused(error: OptionError) -> napi::Error {
    napi::Error::new(napi::Status::InvalidArg, error.to_string())
}

fn timeout_ms(plan: &Plan) -> Option<f64> {
    plan.timeout.map(|timeout: Nanos| clock::as_ms(timeout))
}

const fn name_of(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half_open",
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
