//! What denies hedges, and what becomes of the denied.

use std::collections::VecDeque;

use super::*;

#[test]
fn a_call_that_fails_while_hedges_are_throttled_fails_at_once() {
    let mut desk = Desk::new(hedged(1, hedge_after(500.0)));
    while desk.source.budget.withdraw() {}
    let (op, _) = desk.call();
    assert_eq!(
        desk.settle(op, 1, Outcome::Transient),
        [Action::Reject(Rejection::Attempt(1))]
    );
    // Also when the hedge was denied first and waits.
    let (op, _) = desk.call();
    assert!(desk.wait(op, 600 * MS).is_empty());
    assert_eq!(desk.hedged(HedgeEvent::DeniedBudget), 2);
    assert_eq!(
        desk.settle(op, 1, Outcome::Transient),
        [Action::Reject(Rejection::Attempt(1))]
    );
    assert!(desk.is_idle());
}

#[test]
fn the_budget_denies_and_what_calls_earn_goes_to_who_waits_longest() {
    let mut desk = Desk::new(hedged(1, hedge_after(20.0)));
    while desk.source.budget.withdraw() {}
    let (first, _) = desk.call();
    let (second, _) = desk.call();
    assert!(desk.pass(30 * MS).is_empty());
    assert_eq!(desk.hedged(HedgeEvent::DeniedBudget), 2);
    let mut steps = Vec::new();
    for _ in 0..8 {
        let plan = desk.source.plan(None);
        let op = desk.source.start(&Call::new(plan), desk.now, &mut steps);
        steps.retain(|step| step.op != op);
    }
    let hedges: Vec<OpId> = steps
        .iter()
        .filter(|step| matches!(step.action, Action::Start { .. }))
        .map(|step| step.op)
        .collect();
    assert_eq!(hedges, [first], "ten calls, one token");
    assert_eq!(desk.hedged(HedgeEvent::DeniedBudget), 2, "denied once each");
    assert_eq!(desk.hedged(HedgeEvent::Started), 1);
    let _ = second;
}

#[test]
fn a_waiting_hedge_of_a_call_that_is_over_costs_nothing() {
    let mut desk = Desk::new(hedged(1, hedge_after(20.0)));
    while desk.source.budget.withdraw() {}
    let (keep, _) = desk.call();
    let (op, _) = desk.call();
    desk.pass(30 * MS);
    desk.settle(op, 1, Outcome::Ok);
    desk.settle(keep, 1, Outcome::Ok);
    desk.calls(20, MS);
    assert_eq!(desk.hedged(HedgeEvent::Started), 0);
    assert!((desk.source.tokens() - 2.2).abs() < 1e-9);
    assert!(desk.is_idle());
}

#[test]
fn ratio_and_burst_are_the_ones_that_were_named() {
    for (ratio, burst, expected) in [(0.1, 10.0, 20), (0.15, 10.0, 25), (0.05, 3.0, 8)] {
        let hedge = HedgeOptions {
            budget: BudgetOptions {
                ratio: Some(ratio),
                burst: Some(burst),
            },
            ..hedge_after(1.0)
        };
        let mut desk = Desk::new(hedged(1, hedge));
        // The burst, then what 100 calls earn; none settles.
        let mut hedges = 0;
        for _ in 0..100 {
            let mut steps = Vec::new();
            let plan = desk.source.plan(None);
            desk.source.start(&Call::new(plan), desk.now, &mut steps);
            steps.extend(desk.pass(2 * MS));
            hedges += steps
                .iter()
                .filter(|step| {
                    matches!(
                        step.action,
                        Action::Start {
                            kind: AttemptKind::Hedge,
                            ..
                        }
                    )
                })
                .count();
        }
        // The first deposits find a full budget.
        assert!((expected - 1..=expected).contains(&hedges), "{ratio} {burst}: {hedges}");
    }
}

#[test]
fn ten_thousand_hedges_leave_nothing_pending() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(1_000.0),
        ..hedged(3, hedge_after(5.0))
    });
    let mut settled = 0;
    for n in 0..100_000_u32 {
        let mut steps = Vec::new();
        let plan = desk.source.plan(None);
        let op = desk.source.start(&Call::new(plan), desk.now, &mut steps);
        steps.extend(desk.pass(6 * MS));
        match n % 4 {
            0 => desk.source.settled(op, 1, Outcome::Ok, desk.now, &mut steps),
            1 => desk.source.settled(op, 2, Outcome::Ok, desk.now, &mut steps),
            2 => desk.source.abort(op, desk.now, &mut steps),
            _ => {}
        }
        settled += settlements(&steps);
    }
    settled += settlements(&desk.pass(2 * SECOND));
    assert_eq!(settled, 100_000, "one settlement each");
    assert!(desk.hedged(HedgeEvent::Started) >= 10_000);
    assert!(desk.is_idle());
}

fn settlements(steps: &[Step]) -> usize {
    let settles = |step: &&Step| matches!(step.action, Action::Resolve { .. } | Action::Reject(_));
    steps.iter().filter(settles).count()
}

/// A source whose every call wants a hedge, and whose budget is spent and hardly refilled.
fn penniless() -> Desk {
    let hedge = HedgeOptions {
        budget: BudgetOptions {
            ratio: Some(0.000_001),
            burst: None,
        },
        ..hedge_after(1.0)
    };
    let mut desk = Desk::new(hedged(1, hedge));
    while desk.source.budget.withdraw() {}
    desk
}

/// Sweeping costs as much as there are, so it is done when as many are over as wait, and a few.
#[test]
fn the_queue_of_waiting_hedges_is_swept_when_it_has_twice_as_many_as_there_are_calls() {
    let mut desk = penniless();
    for _ in 0..5 {
        desk.call();
    }
    desk.pass(2 * MS);
    let mut length = 5;
    for _ in 0..1_000 {
        let (op, _) = desk.call();
        desk.pass(2 * MS);
        // Six calls are under way, and all of them wait.
        length = if length + 1 > 2 * 6 + 64 { 6 } else { length + 1 };
        assert_eq!(desk.source.waiting.len(), length);
        desk.settle(op, 1, Outcome::Ok);
    }
}

#[test]
fn the_queue_of_waiting_hedges_does_not_outgrow_the_calls() {
    let mut desk = penniless();
    let (_, _) = desk.call();
    let mut longest = 0;
    for _ in 0..10_000 {
        let (op, _) = desk.call();
        desk.pass(2 * MS);
        desk.abort(op);
        longest = longest.max(desk.source.waiting.len());
    }
    assert!(longest < 100, "{longest}");
}

#[test]
fn the_users_gate_is_asked_before_each_hedge() {
    let hedge = HedgeOptions {
        gate: true,
        ..hedge_after(20.0)
    };
    let mut desk = Desk::new(hedged(1, hedge));
    let (op, _) = desk.call();
    assert_eq!(desk.wait(op, 20 * MS), [Action::AskGate]);
    assert!(desk.gate(op, false).is_empty(), "the running attempt goes on");
    assert_eq!(desk.hedged(HedgeEvent::DeniedGate), 1);
    assert!(desk.wait(op, SECOND).is_empty());
    desk.settle(op, 1, Outcome::Ok);
    let (op, _) = desk.call();
    desk.wait(op, 20 * MS);
    assert_eq!(started(&desk.gate(op, true)), [(2, AttemptKind::Hedge, 0)]);
}

#[test]
fn a_gate_that_denies_the_last_chance_settles_the_call() {
    let hedge = HedgeOptions {
        gate: true,
        ..hedge_after(20.0)
    };
    let mut desk = Desk::new(hedged(1, hedge));
    let (op, _) = desk.call();
    assert_eq!(desk.settle(op, 1, Outcome::Transient), [Action::AskGate]);
    assert_eq!(desk.gate(op, false), [Action::Reject(Rejection::Attempt(1))]);
    assert!(desk.is_idle());
}

#[test]
fn calls_in_flight_close_the_gate_at_80_percent_and_hedges_do_not_count() {
    let hedge = HedgeOptions {
        max_in_flight: Some(10.0),
        ..hedge_after(20.0)
    };
    let mut desk = Desk::new(hedged(1, hedge));
    let ops: Vec<OpId> = (0..7).map(|_| desk.call().0).collect();
    let hedges = desk
        .pass(20 * MS)
        .iter()
        .filter(|step| matches!(step.action, Action::Start { .. }))
        .count();
    assert_eq!(hedges, 7, "7 calls with 7 hedges are 7 of 10");
    assert_eq!(desk.source.in_flight(), 7);
    let (eighth, _) = desk.call();
    assert!(desk.wait(eighth, 20 * MS).is_empty());
    assert_eq!(desk.hedged(HedgeEvent::DeniedGate), 1);
    for op in ops {
        desk.settle(op, 1, Outcome::Ok);
    }
    desk.settle(eighth, 1, Outcome::Ok);
    assert!(desk.is_idle());
}

#[test]
fn a_hedge_that_would_come_at_the_deadline_does_not_start() {
    let mut desk = Desk::new(hedged(1, hedge_after(20.0)));
    let plan = desk.source.plan(None);
    let call = Call {
        deadline: Some(desk.now + 20 * MS),
        ..Call::new(plan)
    };
    let (op, _) = desk.call_with(&call);
    let actions = desk.wait(op, 20 * MS);
    assert_eq!(started(&actions), []);
    assert_eq!(rejected(&actions), Some(Rejection::Deadline { given: true }));
    assert_eq!(desk.hedged(HedgeEvent::DeniedDeadline), 1);
}

#[test]
fn latency_that_triples_at_once_hedges_at_most_11_percent_of_a_thousand_calls_a_second() {
    let mut desk = Desk::new(hedged(1, HedgeOptions::default()));
    desk.calls(5_900, 10 * MS);
    let mut running = VecDeque::new();
    let mut steps = Vec::new();
    for _ in 0..1_000 {
        let plan = desk.source.plan(None);
        let op = desk.source.start(&Call::new(plan), desk.now, &mut steps);
        running.push_back((desk.now + 30 * MS, op));
        steps.extend(desk.pass(MS));
        while let Some((_, op)) = running.front().copied().filter(|(at, _)| *at <= desk.now) {
            running.pop_front();
            desk.source.settled(op, 1, Outcome::Ok, desk.now, &mut steps);
        }
    }
    let hedge = |step: &&Step| {
        let kind = AttemptKind::Hedge;
        matches!(step.action, Action::Start { kind: started, .. } if started == kind)
    };
    let hedges = steps.iter().filter(hedge).count();
    // The budget is what limits them, until the window has learned of it.
    assert!((60..=110).contains(&hedges), "{hedges}");
}
