//! What the calls of one source share, and what it can be asked.

use std::collections::VecDeque;

use super::super::Nanos;
use super::super::deadline::Deadlines;
use super::super::error::OptionError;
use super::super::hedge::budget::HedgeBudget;
use super::super::hedge::gate::Gate;
use super::super::hedge::window::{LatencyWindow, WindowOptions};
use super::breaker::BreakerState;
use super::failover::Endpoints;
use super::figures::Figures;
use super::operations::{Operation, Operations};
use super::options::{CallOptions, SourceOptions};
use super::plan::{Plan, Shared};
use super::priority::Priority;
use super::step::OpId;

/// One call of a source.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// What it does: [`Source::plan`] or [`Source::plan_for`].
    pub plan: Plan,
    /// A deadline it was given, beside the plan's timeout.
    pub deadline: Option<Nanos>,
    /// Whether its signal was aborted before.
    pub aborted: bool,
}

impl Call {
    /// A call with nothing but a plan.
    #[must_use]
    pub const fn new(plan: Plan) -> Self {
        Self {
            plan,
            deadline: None,
            aborted: false,
        }
    }
}

/// One source: what its calls share, and those under way.
pub struct Source {
    options: SourceOptions,
    /// For calls that name nothing but a priority.
    plans: [Plan; 4],
    pub(super) operations: Operations,
    pub(super) deadlines: Deadlines,
    pub(super) endpoints: Endpoints,
    pub(super) budget: HedgeBudget,
    pub(super) gate: Gate,
    pub(super) asks: bool,
    pub(super) window_options: WindowOptions,
    /// Once somebody wants to know the quantile.
    pub(super) window: Option<Box<LatencyWindow>>,
    /// Operations that the budget denied a hedge, longest waiting first. Some may be over.
    pub(super) waiting: VecDeque<OpId>,
    /// Running attempts that are no hedges.
    pub(super) in_flight: u32,
    pub(super) figures: Figures,
}

impl Source {
    /// A source.
    ///
    /// # Errors
    /// When an option is out of range, there is no endpoint, a policy needs `idempotent`, or a delay
    /// cannot end before the timeout.
    pub fn new(options: SourceOptions) -> Result<Self, OptionError> {
        let count = match u32::try_from(options.endpoints) {
            Ok(count) if count > 0 => count,
            _ => {
                #[expect(clippy::cast_precision_loss, reason = "told to a human")]
                let value = options.endpoints as f64;
                return Err(OptionError::OutOfRange {
                    option: "endpoints",
                    rule: "a list of at least one",
                    value,
                });
            }
        };
        let plan = |priority| {
            let call = CallOptions {
                priority,
                ..CallOptions::default()
            };
            Plan::new(&options, &call)
        };
        let plans = [
            plan(None)?,
            plan(Some(Priority::High))?,
            plan(Some(Priority::Normal))?,
            plan(Some(Priority::Low))?,
        ];
        let shared = Shared::new(&options.hedge.unwrap_or_default())?;
        let endpoints = Endpoints::new(count, options.breaker, options.seed);
        Ok(Self {
            options,
            plans,
            operations: Operations::default(),
            deadlines: Deadlines::new(),
            endpoints,
            budget: shared.budget,
            gate: shared.gate,
            asks: shared.asks,
            window_options: shared.window,
            window: None,
            waiting: VecDeque::new(),
            in_flight: 0,
            figures: Figures::default(),
        })
    }

    /// What a call does that names nothing but, perhaps, a priority.
    #[must_use]
    pub const fn plan(&self, priority: Option<Priority>) -> Plan {
        match priority {
            None => self.plans[0],
            Some(Priority::High) => self.plans[1],
            Some(Priority::Normal) => self.plans[2],
            Some(Priority::Low) => self.plans[3],
        }
    }

    /// What a call with options of its own does.
    ///
    /// # Errors
    /// As for [`Plan::new`].
    pub fn plan_for(&self, call: &CallOptions) -> Result<Plan, OptionError> {
        Plan::new(&self.options, call)
    }

    /// What was counted.
    #[must_use]
    pub const fn figures(&self) -> &Figures {
        &self.figures
    }

    /// How many hedges could start now.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.budget.tokens()
    }

    /// What each endpoint's breaker is doing; empty without breakers.
    pub fn breakers(&self, now: Nanos) -> impl Iterator<Item = BreakerState> {
        self.endpoints.states(now)
    }

    /// Operations under way, those included that are answered while a loser runs on.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.operations.len()
    }

    /// Timers that are set.
    #[must_use]
    pub fn timers(&self) -> usize {
        self.deadlines.len()
    }

    /// Running attempts, without hedges.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(super) fn operation(&mut self, op: OpId) -> Option<&mut Operation> {
        self.operations.get_mut(op)
    }
}
