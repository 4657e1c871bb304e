//! One source's rules, with the clock they are told and the steps that wait to be taken.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use napi_derive::napi;

use super::clock::Clock;
use crate::core::Nanos;
use crate::core::source::{
    Action, AttemptKind, Call, CancelReason, Event, OpId, Outcome, Plan, Priority, Rejection, Source, Step,
};

/// A source and its surroundings. Lives on the JavaScript thread.
pub struct SourceCell {
    /// The rules.
    pub core: RefCell<Source>,
    /// Their clock.
    pub clock: Clock,
    /// Operations by slot. JavaScript names only those that it knows to be under way.
    operations: RefCell<Vec<OpId>>,
    steps: RefCell<VecDeque<Step>>,
    /// Room for the steps of one event.
    fresh: RefCell<Vec<Step>>,
    current: Cell<Option<Step>>,
    /// What JavaScript's timer is set to.
    timer: Cell<Option<Nanos>>,
}

/// What JavaScript tells a source, and asks it about the step it is at.
#[napi]
#[derive(Clone, Copy)]
pub enum SourceStep {
    /// A call begins: a plan's number ([`SourceCell::plan`]), and milliseconds to a deadline it was given, 0 for
    /// none. Answers the operation's slot.
    Start = 0,
    /// An attempt has settled: the slot, and the attempt's number times 4 plus 0 for a result, 1 for a
    /// transient failure, 2 for a fatal one.
    Settled = 1,
    /// The user's gate has answered: the slot, and 1 when it allows.
    Gate = 2,
    /// Nobody waits any longer: the slot, and 1 when it took too long or 0 when the caller aborted.
    Abort = 3,
    /// Time has passed.
    Advance = 4,
    /// Takes the next step. Answers its [`SourceAction`] and, times 8, the detail; 0 when there is none.
    Next = 5,
    /// The slot of the operation whose step was taken.
    Slot = 6,
    /// The number of the attempt that the step is about.
    Attempt = 7,
    /// The endpoint of the attempt that is to start.
    Endpoint = 8,
    /// Answers 1 when the timer must be set anew: see [`SourceCell::delay`].
    TimerChanged = 9,
}

/// What a step is about, and what its detail says.
#[napi]
pub enum SourceAction {
    /// Nothing is left.
    None = 0,
    /// Start an attempt: its kind, in the order of [`AttemptKind`].
    Start = 1,
    /// Ask the user's gate.
    AskGate = 2,
    /// Abort an attempt: a [`SourceCancel`].
    Cancel = 3,
    /// The caller gets an attempt's result.
    Resolve = 4,
    /// The caller is rejected: a [`SourceRejection`].
    Reject = 5,
    /// Tell an event: see [`SourceCell::event`].
    Tell = 6,
}

/// Bits of the action in a packed step.
#[napi]
pub const SOURCE_ACTION_BITS: u32 = 3;

/// Why an attempt is aborted.
#[napi]
pub enum SourceCancel {
    /// Another one won.
    Lost = 0,
    /// Another one failed for good.
    SiblingFailed = 1,
    /// The time is up.
    Deadline = 2,
    /// The caller aborted.
    Aborted = 3,
}

/// What the caller is rejected with.
#[napi]
pub enum SourceRejection {
    /// The attempt's own error.
    Attempt = 0,
    /// All attempts' errors.
    Attempts = 1,
    /// The time was up: the operation's own.
    Timeout = 2,
    /// The time was up: of the deadline that the call brought.
    Deadline = 3,
    /// The caller's reason.
    Aborted = 4,
    /// No endpoint was let through.
    BreakerOpen = 5,
}

/// An event, in the places that its kind uses.
#[napi(object)]
pub struct SourceEvent {
    /// `hedge`, `failover`, `retry` or `winner`.
    pub event: String,
    /// The attempt's number.
    pub attempt: u32,
    /// Where.
    pub endpoint: u32,
    /// Where the failed attempt was.
    pub from: u32,
    /// What started the winner.
    pub kind: String,
    /// Milliseconds: after, backoff or margin.
    pub ms: f64,
    /// Attempts that were still running.
    pub losers: u32,
}

/// Tells a source.
pub type Run = fn(&SourceCell, u32, u32) -> i32;

/// The function of a step.
pub const fn run(step: SourceStep) -> Run {
    match step {
        SourceStep::Start => SourceCell::start_planned,
        SourceStep::Settled => SourceCell::settled,
        SourceStep::Gate => SourceCell::gate,
        SourceStep::Abort => SourceCell::abort,
        SourceStep::Advance => SourceCell::advance,
        SourceStep::Next => SourceCell::next,
        SourceStep::Slot => SourceCell::slot,
        SourceStep::Attempt => SourceCell::attempt,
        SourceStep::Endpoint => SourceCell::endpoint,
        SourceStep::TimerChanged => SourceCell::timer_changed,
    }
}

const NANOS_PER_MS: Nanos = 1_000_000;

impl SourceCell {
    /// A source that is told the time by `clock`.
    pub fn new(core: Source, clock: Clock) -> Self {
        Self {
            core: RefCell::new(core),
            clock,
            operations: RefCell::default(),
            steps: RefCell::default(),
            fresh: RefCell::default(),
            current: Cell::default(),
            timer: Cell::default(),
        }
    }

    /// The plan of a call that names nothing but a priority: 0 none, 1 high, 2 normal, 3 low.
    pub fn plan(&self, number: u32) -> Plan {
        let priority = match number {
            1 => Some(Priority::High),
            2 => Some(Priority::Normal),
            3 => Some(Priority::Low),
            _ => None,
        };
        self.core.borrow().plan(priority)
    }

    fn start_planned(&self, plan: u32, deadline_ms: u32) -> i32 {
        let left = (deadline_ms != 0).then_some(Nanos::from(deadline_ms) * NANOS_PER_MS);
        self.start(self.plan(plan), left).cast_signed()
    }

    /// A call begins; `left` nanoseconds are left of a deadline it was given. Answers its slot.
    pub fn start(&self, plan: Plan, left: Option<Nanos>) -> u32 {
        let now = self.clock.now();
        let call = Call {
            deadline: left.map(|left| now.saturating_add(left)),
            ..Call::new(plan)
        };
        let op = self.tell(|core, now, out| core.start(&call, now, out));
        let mut operations = self.operations.borrow_mut();
        let slot = op.slot() as usize;
        if slot >= operations.len() {
            operations.resize(slot + 1, op);
        }
        operations[slot] = op;
        op.slot()
    }

    fn settled(&self, slot: u32, detail: u32) -> i32 {
        let outcome = match detail & 3 {
            0 => Outcome::Ok,
            1 => Outcome::Transient,
            _ => Outcome::Fatal,
        };
        self.of(slot, |op, core, now, out| {
            core.settled(op, detail >> 2, outcome, now, out);
        })
    }

    fn gate(&self, slot: u32, allowed: u32) -> i32 {
        self.of(slot, |op, core, now, out| core.gate(op, allowed != 0, now, out))
    }

    fn abort(&self, slot: u32, too_late: u32) -> i32 {
        self.of(slot, |op, core, now, out| match too_late {
            0 => core.abort(op, now, out),
            _ => core.time_out(op, now, out),
        })
    }

    fn advance(&self, _: u32, _: u32) -> i32 {
        self.timer.take();
        self.tell(Source::advance);
        0
    }

    fn of(&self, slot: u32, tell: impl FnOnce(OpId, &mut Source, Nanos, &mut Vec<Step>)) -> i32 {
        let op = self.operations.borrow().get(slot as usize).copied();
        if let Some(op) = op {
            self.tell(|core, now, out| tell(op, core, now, out));
        }
        0
    }

    fn tell<T>(&self, tell: impl FnOnce(&mut Source, Nanos, &mut Vec<Step>) -> T) -> T {
        let mut fresh = self.fresh.borrow_mut();
        let answer = tell(&mut self.core.borrow_mut(), self.clock.now(), &mut fresh);
        self.steps.borrow_mut().extend(fresh.drain(..));
        answer
    }

    fn next(&self, _: u32, _: u32) -> i32 {
        let step = self.steps.borrow_mut().pop_front();
        self.current.set(step);
        step.map_or(SourceAction::None as i32, |step| pack(step.action))
    }

    fn slot(&self, _: u32, _: u32) -> i32 {
        self.current.get().map_or(-1, |step| step.op.slot().cast_signed())
    }

    fn attempt(&self, _: u32, _: u32) -> i32 {
        let number = match self.current.get().map(|step| step.action) {
            Some(
                Action::Start { attempt, .. }
                | Action::Cancel { attempt, .. }
                | Action::Resolve { attempt }
                | Action::Reject(Rejection::Attempt(attempt)),
            ) => attempt,
            _ => 0,
        };
        number.cast_signed()
    }

    fn endpoint(&self, _: u32, _: u32) -> i32 {
        match self.current.get().map(|step| step.action) {
            Some(Action::Start { endpoint, .. }) => endpoint.cast_signed(),
            _ => 0,
        }
    }

    fn timer_changed(&self, _: u32, _: u32) -> i32 {
        let changed = match (self.timer.get(), self.core.borrow().next_due()) {
            (_, None) => false,
            // A timer that fires early costs less than setting one for each deadline that ends.
            (Some(set), Some(earliest)) => earliest < set,
            (None, Some(_)) => true,
        };
        changed.into()
    }

    /// When the timer is to fire, in nanoseconds from now.
    pub fn delay(&self) -> Option<(Nanos, Nanos)> {
        let at = self.core.borrow().next_due();
        self.timer.set(at);
        at.map(|at| (at, self.clock.now()))
    }

    /// The event of the step that was taken.
    pub fn event(&self) -> Option<SourceEvent> {
        match self.current.get()?.action {
            Action::Tell(event) => Some(event.into()),
            _ => None,
        }
    }
}

fn pack(action: Action) -> i32 {
    let (action, detail) = match action {
        Action::Start { kind, .. } => (SourceAction::Start, place_of(kind)),
        Action::AskGate => (SourceAction::AskGate, 0),
        Action::Cancel { reason, .. } => (
            SourceAction::Cancel,
            match reason {
                CancelReason::Lost => SourceCancel::Lost,
                CancelReason::SiblingFailed => SourceCancel::SiblingFailed,
                CancelReason::Deadline => SourceCancel::Deadline,
                CancelReason::Aborted => SourceCancel::Aborted,
            } as i32,
        ),
        Action::Resolve { .. } => (SourceAction::Resolve, 0),
        Action::Reject(rejection) => (
            SourceAction::Reject,
            match rejection {
                Rejection::Attempt(_) => SourceRejection::Attempt,
                Rejection::Attempts => SourceRejection::Attempts,
                Rejection::Deadline { given: false } => SourceRejection::Timeout,
                Rejection::Deadline { given: true } => SourceRejection::Deadline,
                Rejection::Aborted => SourceRejection::Aborted,
                Rejection::BreakerOpen => SourceRejection::BreakerOpen,
            } as i32,
        ),
        Action::Tell(_) => (SourceAction::Tell, 0),
    };
    action as i32 | (detail << SOURCE_ACTION_BITS)
}

const fn place_of(kind: AttemptKind) -> i32 {
    match kind {
        AttemptKind::Primary => 0,
        AttemptKind::Hedge => 1,
        AttemptKind::Failover => 2,
        AttemptKind::Retry => 3,
    }
}

impl From<Event> for SourceEvent {
    fn from(event: Event) -> Self {
        let (name, attempt, endpoint, nanos) = match event {
            Event::Hedge {
                attempt,
                endpoint,
                after,
            } => ("hedge", attempt, endpoint, after),
            Event::Failover { attempt, endpoint, .. } => ("failover", attempt, endpoint, 0),
            Event::Retry {
                attempt,
                endpoint,
                backoff,
            } => ("retry", attempt, endpoint, backoff),
            Event::Winner {
                attempt,
                endpoint,
                margin,
                ..
            } => ("winner", attempt, endpoint, margin),
        };
        let (kind, losers) = match event {
            Event::Winner { kind, losers, .. } => (kind, losers),
            Event::Hedge { .. } => (AttemptKind::Hedge, 0),
            Event::Failover { .. } => (AttemptKind::Failover, 0),
            Event::Retry { .. } => (AttemptKind::Retry, 0),
        };
        Self {
            event: name.into(),
            attempt,
            endpoint,
            from: if let Event::Failover { from, .. } = event {
                from
            } else {
                0
            },
            kind: AttemptKind::ALL[kind as usize].1.into(),
            ms: super::clock::as_ms(nanos),
            losers,
        }
    }
}
