//! One operation at a time, step by step. Random histories are in `histories`.

mod choice;
mod denials;
mod failing;
mod hedges;
mod histories;
mod model;

use super::breaker::BreakerState;
use super::figures::{AttemptOutcome, HedgeEvent};
use super::*;
use crate::core::Nanos;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;

/// A source, and a clock for it.
struct Desk {
    source: Source,
    now: Nanos,
}

impl Desk {
    fn new(options: SourceOptions) -> Self {
        Self {
            source: Source::new(options).expect("valid options"),
            now: SECOND,
        }
    }

    fn call(&mut self) -> (OpId, Vec<Action>) {
        let plan = self.source.plan(None);
        self.call_with(&Call::new(plan))
    }

    fn call_with(&mut self, call: &Call) -> (OpId, Vec<Action>) {
        let mut out = Vec::new();
        let op = self.source.start(call, self.now, &mut out);
        (op, of(op, out))
    }

    fn settle(&mut self, op: OpId, attempt: u32, outcome: Outcome) -> Vec<Action> {
        let mut out = Vec::new();
        self.source.settled(op, attempt, outcome, self.now, &mut out);
        of(op, out)
    }

    fn abort(&mut self, op: OpId) -> Vec<Action> {
        let mut out = Vec::new();
        self.source.abort(op, self.now, &mut out);
        of(op, out)
    }

    fn time_out(&mut self, op: OpId) -> Vec<Action> {
        let mut out = Vec::new();
        self.source.time_out(op, self.now, &mut out);
        of(op, out)
    }

    fn gate(&mut self, op: OpId, allowed: bool) -> Vec<Action> {
        let mut out = Vec::new();
        self.source.gate(op, allowed, self.now, &mut out);
        of(op, out)
    }

    /// Lets time pass, firing what is due when it is due.
    fn pass(&mut self, time: Nanos) -> Vec<Step> {
        let end = self.now + time;
        let mut out = Vec::new();
        while let Some(at) = self.source.next_due().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.source.advance(self.now, &mut out);
        }
        self.now = end;
        out
    }

    fn wait(&mut self, op: OpId, time: Nanos) -> Vec<Action> {
        of(op, self.pass(time))
    }

    /// So many calls that take so long each.
    fn calls(&mut self, times: u32, duration: Nanos) {
        for _ in 0..times {
            let (op, _) = self.call();
            self.now += duration;
            self.settle(op, 1, Outcome::Ok);
        }
    }

    fn hedged(&self, event: HedgeEvent) -> u64 {
        self.source.figures().hedge_total(event)
    }

    fn ended(&self, kind: AttemptKind, outcome: AttemptOutcome) -> u64 {
        self.source.figures().attempt_total(kind, outcome)
    }

    fn breakers(&self) -> Vec<BreakerState> {
        self.source.breakers(self.now).collect()
    }

    /// Nothing is left of any operation.
    fn is_idle(&self) -> bool {
        (self.source.pending(), self.source.timers(), self.source.in_flight()) == (0, 0, 0)
            && self.source.waiting.is_empty()
    }
}

/// The steps of one operation, all of which belong to it.
fn of(op: OpId, steps: Vec<Step>) -> Vec<Action> {
    assert!(steps.iter().all(|step| step.op == op), "{steps:?}");
    steps.into_iter().map(|step| step.action).collect()
}

fn options(endpoints: usize) -> SourceOptions {
    SourceOptions {
        endpoints,
        idempotent: true,
        seed: 11,
        ..SourceOptions::default()
    }
}

fn hedge_after(ms: f64) -> HedgeOptions {
    HedgeOptions {
        delay: Some(HedgeDelay::Fixed(ms)),
        ..HedgeOptions::default()
    }
}

fn hedged(endpoints: usize, hedge: HedgeOptions) -> SourceOptions {
    SourceOptions {
        hedge: Some(hedge),
        ..options(endpoints)
    }
}

fn started(actions: &[Action]) -> Vec<(u32, AttemptKind, u32)> {
    let starts = actions.iter().filter_map(|action| match action {
        Action::Start {
            attempt,
            kind,
            endpoint,
        } => Some((*attempt, *kind, *endpoint)),
        _ => None,
    });
    starts.collect()
}

fn cancelled(actions: &[Action]) -> Vec<(u32, CancelReason)> {
    let cancels = actions.iter().filter_map(|action| match action {
        Action::Cancel { attempt, reason } => Some((*attempt, *reason)),
        _ => None,
    });
    cancels.collect()
}

fn rejected(actions: &[Action]) -> Option<Rejection> {
    actions.iter().find_map(|action| match action {
        Action::Reject(rejection) => Some(*rejection),
        _ => None,
    })
}

#[test]
fn with_nothing_named_a_call_is_one_attempt() {
    for (outcome, settled) in [
        (Outcome::Ok, None),
        (Outcome::Transient, Some(Rejection::Attempt(1))),
        (Outcome::Fatal, Some(Rejection::Attempt(1))),
    ] {
        let mut desk = Desk::new(options(2));
        let (op, actions) = desk.call();
        assert_eq!(started(&actions), [(1, AttemptKind::Primary, 0)]);
        assert_eq!(desk.source.next_due(), None, "no timer");
        let actions = desk.settle(op, 1, outcome);
        assert_eq!(rejected(&actions), settled);
        assert_eq!(
            actions.contains(&Action::Resolve { attempt: 1 }),
            outcome == Outcome::Ok
        );
        assert!(desk.is_idle());
        assert!(desk.settle(op, 1, Outcome::Ok).is_empty(), "settled once");
    }
}

#[test]
fn a_lone_winner_had_no_race() {
    let mut desk = Desk::new(options(1));
    let (op, _) = desk.call();
    desk.now += 5 * MS;
    let won = Event::Winner {
        attempt: 1,
        kind: AttemptKind::Primary,
        endpoint: 0,
        margin: 0,
        losers: 0,
    };
    let expected = [Action::Tell(won), Action::Resolve { attempt: 1 }];
    assert_eq!(desk.settle(op, 1, Outcome::Ok), expected);
}

#[test]
fn an_id_of_an_operation_that_is_over_reaches_no_later_one() {
    let mut desk = Desk::new(options(1));
    let (first, _) = desk.call();
    desk.settle(first, 1, Outcome::Ok);
    let (second, _) = desk.call();
    assert_eq!(first.slot(), second.slot());
    assert!(desk.settle(first, 1, Outcome::Ok).is_empty());
    assert!(desk.abort(first).is_empty());
    assert_eq!(desk.source.pending(), 1);
}

#[test]
fn attempts_that_never_were_are_ignored() {
    let mut desk = Desk::new(options(1));
    let (op, _) = desk.call();
    for number in [0, 2, u32::MAX] {
        assert!(desk.settle(op, number, Outcome::Ok).is_empty());
    }
    assert!(desk.gate(op, true).is_empty(), "nobody asked");
}

#[test]
fn a_source_needs_an_endpoint() {
    let error = Source::new(options(0)).err().expect("refused").to_string();
    assert_eq!(error, "endpoints must be a list of at least one, got 0");
}
