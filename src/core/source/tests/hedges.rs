//! The race of a hedge with its primary, and its delay.

use super::*;

const HEDGE: [(u32, AttemptKind, u32); 1] = [(2, AttemptKind::Hedge, 0)];

#[test]
fn the_hedge_starts_at_its_delay_and_not_before() {
    let mut desk = Desk::new(hedged(1, hedge_after(20.0)));
    let (op, _) = desk.call();
    assert!(desk.wait(op, 20 * MS - 1).is_empty());
    let actions = desk.wait(op, 1);
    let told = Event::Hedge {
        attempt: 2,
        endpoint: 0,
        after: 20 * MS,
    };
    assert_eq!(actions[0], Action::Tell(told));
    assert_eq!(started(&actions), HEDGE);
}

#[test]
fn whoever_is_first_wins_and_the_other_is_cancelled() {
    for (winner, loser, kind) in [(1, 2, AttemptKind::Primary), (2, 1, AttemptKind::Hedge)] {
        let mut desk = Desk::new(hedged(1, hedge_after(20.0)));
        let (op, _) = desk.call();
        desk.wait(op, 27 * MS);
        let actions = desk.settle(op, winner, Outcome::Ok);
        let won = Event::Winner {
            attempt: winner,
            kind,
            endpoint: 0,
            margin: 7 * MS,
            losers: 1,
        };
        let expected = [
            Action::Tell(won),
            Action::Cancel {
                attempt: loser,
                reason: CancelReason::Lost,
            },
            Action::Resolve { attempt: winner },
        ];
        assert_eq!(actions, expected);
        assert!(desk.settle(op, loser, Outcome::Ok).is_empty(), "one settlement");
        assert!(desk.is_idle());
        assert_eq!(desk.hedged(HedgeEvent::Won), u64::from(winner == 2));
        assert_eq!(desk.hedged(HedgeEvent::Lost), u64::from(winner == 1));
    }
}

#[test]
fn an_error_never_wins_over_a_pending_attempt() {
    for (failing, other) in [(1, 2), (2, 1)] {
        let mut desk = Desk::new(hedged(1, hedge_after(20.0)));
        let (op, _) = desk.call();
        desk.wait(op, 20 * MS);
        assert!(desk.settle(op, failing, Outcome::Transient).is_empty());
        let actions = desk.settle(op, other, Outcome::Ok);
        assert!(actions.contains(&Action::Resolve { attempt: other }));
        assert!(desk.is_idle());
    }
}

#[test]
fn the_last_live_attempt_that_fails_settles_at_once() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(10_000.0),
        ..hedged(1, hedge_after(20.0))
    });
    let (op, _) = desk.call();
    desk.wait(op, 20 * MS);
    desk.settle(op, 2, Outcome::Transient);
    let actions = desk.settle(op, 1, Outcome::Transient);
    assert_eq!(actions, [Action::Reject(Rejection::Attempts)]);
    assert!(desk.is_idle());
    assert_eq!(desk.hedged(HedgeEvent::Failed), 1);
}

#[test]
fn a_hedge_that_loses_is_counted_whether_or_not_it_runs_on() {
    for cancel_loser in [true, false] {
        for winner in [1, 2] {
            let hedge = HedgeOptions {
                cancel_loser: Some(cancel_loser),
                ..hedge_after(20.0)
            };
            let mut desk = Desk::new(hedged(1, hedge));
            let (op, _) = desk.call();
            desk.wait(op, 20 * MS);
            desk.settle(op, winner, Outcome::Ok);
            desk.settle(op, 3 - winner, Outcome::Ok);
            let lost = u64::from(winner == 1);
            assert_eq!(
                (desk.hedged(HedgeEvent::Lost), desk.hedged(HedgeEvent::Won)),
                (lost, 1 - lost)
            );
            assert!(desk.is_idle());
        }
    }
}

#[test]
fn losers_run_on_when_they_are_not_to_be_cancelled() {
    let hedge = HedgeOptions {
        cancel_loser: Some(false),
        ..hedge_after(20.0)
    };
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(1_000.0),
        ..hedged(1, hedge)
    });
    for loser_settles in [true, false] {
        let (op, _) = desk.call();
        desk.wait(op, 20 * MS);
        let actions = desk.settle(op, 2, Outcome::Ok);
        assert!(cancelled(&actions).is_empty());
        assert_eq!(actions.last(), Some(&Action::Resolve { attempt: 2 }));
        assert_eq!(desk.source.in_flight(), 1);
        assert!(desk.abort(op).is_empty(), "the caller has its answer");
        assert!(desk.time_out(op).is_empty(), "and does not wait for the loser");
        let actions = if loser_settles {
            desk.settle(op, 1, Outcome::Transient)
        } else {
            desk.wait(op, 980 * MS)
        };
        let deadline = [(1, CancelReason::Deadline)];
        assert_eq!(
            cancelled(&actions),
            if loser_settles { &deadline[..0] } else { &deadline }
        );
        assert_eq!(rejected(&actions), None);
        assert!(desk.is_idle());
    }
    assert_eq!(desk.ended(AttemptKind::Primary, AttemptOutcome::Error), 1);
    assert_eq!(desk.ended(AttemptKind::Primary, AttemptOutcome::Timeout), 1);
    assert_eq!(desk.hedged(HedgeEvent::Won), 2);
}

#[test]
fn max_hedges_is_how_many() {
    for max in 1..=3 {
        let hedge = HedgeOptions {
            max_hedges: Some(f64::from(max)),
            ..hedge_after(20.0)
        };
        let mut desk = Desk::new(SourceOptions {
            retry: Some(RetryOptions {
                max_attempts: Some(10.0),
                ..RetryOptions::default()
            }),
            ..hedged(1, hedge)
        });
        let (op, _) = desk.call();
        let started = started(&desk.wait(op, SECOND));
        assert_eq!(started.len(), usize::try_from(max).expect("small"));
    }
}

#[test]
fn one_counter_for_hedges_failovers_and_retries() {
    let hedge = HedgeOptions {
        max_hedges: Some(10.0),
        ..hedge_after(1.0)
    };
    for max in 1..=5 {
        let mut desk = Desk::new(SourceOptions {
            failover: Some(FailoverOptions::default()),
            retry: Some(RetryOptions {
                max_attempts: Some(f64::from(max)),
                ..RetryOptions::default()
            }),
            ..hedged(2, hedge)
        });
        let (op, mut actions) = desk.call();
        let mut total = started(&actions).len();
        let mut number = 1;
        while rejected(&actions).is_none() {
            actions = desk.settle(op, number, Outcome::Transient);
            total += started(&actions).len();
            number += 1;
            let more = desk.wait(op, 1_100 * MS);
            total += started(&more).len();
        }
        assert_eq!(total, usize::try_from(max).expect("small"));
    }
}

#[test]
fn a_hedge_only_source_whose_call_fails_early_does_not_wait_for_the_delay() {
    let mut desk = Desk::new(hedged(1, hedge_after(500.0)));
    let (op, _) = desk.call();
    desk.wait(op, 5 * MS);
    assert_eq!(started(&desk.settle(op, 1, Outcome::Transient)), HEDGE);
    assert!(
        desk.settle(op, 2, Outcome::Ok)
            .contains(&Action::Resolve { attempt: 2 })
    );
}

#[test]
fn auto_waits_for_the_initial_delay_until_the_window_is_warm_and_when_it_is_idle() {
    let hedge = HedgeOptions {
        initial_delay_ms: Some(70.0),
        ..HedgeOptions::default()
    };
    let mut desk = Desk::new(hedged(1, hedge));
    for _ in 0..100 {
        assert_eq!(desk.source.hedge_delay(desk.now), Some(70 * MS));
        desk.calls(1, 10 * MS);
    }
    let warm = desk.source.hedge_delay(desk.now).expect("hedges");
    assert!(warm.abs_diff(10 * MS) <= MS / 10, "{warm}");
    desk.pass(61 * SECOND);
    assert_eq!(desk.source.hedge_delay(desk.now), Some(70 * MS));
}

#[test]
fn auto_is_never_nothing_at_low_traffic() {
    let mut desk = Desk::new(hedged(1, HedgeOptions::default()));
    assert_eq!(desk.source.hedge_delay(desk.now), Some(200 * MS), "built-in");
    desk.calls(1_000, 10_000);
    assert_eq!(desk.source.hedge_delay(desk.now), Some(MS), "min delay");
    let (op, _) = desk.call();
    assert!(desk.wait(op, MS - 1).is_empty());
    assert_eq!(started(&desk.wait(op, 1)), HEDGE);
}

#[test]
fn the_windows_knobs_are_the_ones_that_were_named() {
    let mut desk = Desk::new(hedged(
        1,
        HedgeOptions {
            quantile: Some(0.99),
            window_ms: Some(6_000.0),
            min_samples: Some(10.0),
            min_delay_ms: Some(4.0),
            ..HedgeOptions::default()
        },
    ));
    desk.calls(10, MS);
    assert_eq!(
        desk.source.hedge_delay(desk.now),
        Some(4 * MS),
        "10 samples, at least 4 ms"
    );
    desk.pass(6 * SECOND);
    assert_eq!(desk.source.hedge_delay(desk.now), Some(200 * MS), "6 s");
    (0..95).for_each(|_| desk.calls(1, 10 * MS));
    (0..5).for_each(|_| desk.calls(1, 50 * MS));
    let delay = desk.source.hedge_delay(desk.now).expect("hedges");
    assert!(delay.abs_diff(50 * MS) <= MS, "the 99th percentile: {delay}");
}

#[test]
fn a_call_counts_once_with_its_primary_as_long_as_it_lived() {
    let mut desk = Desk::new(hedged(
        1,
        HedgeOptions {
            min_samples: Some(10.0),
            ..HedgeOptions::default()
        },
    ));
    desk.calls(10, 10 * MS);
    let before = samples(&mut desk);
    // The hedge wins after 4 ms of its own; the primary was 14 ms old.
    let (op, _) = desk.call();
    desk.wait(op, 15 * MS);
    desk.settle(op, 2, Outcome::Ok);
    assert_eq!(samples(&mut desk), before + 1);
    let now = desk.now;
    let window = desk.source.window.as_mut().expect("auto");
    for _ in 0..1_000 {
        window.record(0, now);
    }
    assert_eq!(samples(&mut desk), before + 1_001);

    let mut slow = Desk::new(hedged(
        1,
        HedgeOptions {
            min_samples: Some(10.0),
            initial_delay_ms: Some(5.0),
            ..HedgeOptions::default()
        },
    ));
    for _ in 0..10 {
        let (op, _) = slow.call();
        slow.wait(op, 40 * MS);
        slow.settle(op, 2, Outcome::Ok);
    }
    let delay = slow.source.hedge_delay(slow.now).expect("hedges");
    assert!(delay.abs_diff(40 * MS) <= MS, "not the 35 ms of the winners: {delay}");
}

fn samples(desk: &mut Desk) -> u64 {
    let now = desk.now;
    desk.source.window.as_mut().map_or(0, |window| window.samples(now))
}

#[test]
fn a_budget_that_is_low_makes_auto_wait_longer_and_a_fixed_delay_not() {
    for (fixed, tokens_left, hedges_at) in [(false, 6, 10), (false, 3, 13), (true, 3, 10)] {
        let delay = fixed.then_some(HedgeDelay::Fixed(10.0));
        let mut desk = Desk::new(hedged(
            1,
            HedgeOptions {
                delay,
                ..HedgeOptions::default()
            },
        ));
        desk.calls(200, 10 * MS);
        while desk.source.tokens() > f64::from(tokens_left) {
            desk.source.budget.withdraw();
        }
        let (op, _) = desk.call();
        // To the precision of the window.
        assert!(desk.wait(op, (hedges_at - 1) * MS).is_empty());
        assert_eq!(started(&desk.wait(op, 2 * MS)), HEDGE, "{fixed} {tokens_left}");
    }
}

#[test]
fn a_failure_beside_a_hedge_that_hangs_goes_to_the_endpoint_that_is_left() {
    for failing in [1, 2] {
        let mut desk = Desk::new(SourceOptions {
            failover: Some(FailoverOptions::default()),
            ..hedged(3, hedge_after(10.0))
        });
        let (op, _) = desk.call();
        assert_eq!(started(&desk.wait(op, 10 * MS)), [(2, AttemptKind::Hedge, 1)]);
        let actions = desk.settle(op, failing, Outcome::Transient);
        assert_eq!(started(&actions), [(3, AttemptKind::Failover, 2)]);
        let told = Event::Failover {
            attempt: 3,
            from: failing - 1,
            endpoint: 2,
        };
        assert_eq!(actions[0], Action::Tell(told));
        let actions = desk.settle(op, 3, Outcome::Ok);
        assert_eq!(cancelled(&actions), [(3 - failing, CancelReason::Lost)]);
        assert!(desk.is_idle());
    }
}

#[test]
fn a_failure_beside_others_waits_for_them_when_no_endpoint_or_attempt_is_left() {
    for (endpoints, max_attempts) in [(2, 3.0), (3, 2.0)] {
        let mut desk = Desk::new(SourceOptions {
            failover: Some(FailoverOptions::default()),
            retry: Some(RetryOptions {
                max_attempts: Some(max_attempts),
                ..RetryOptions::default()
            }),
            ..hedged(endpoints, hedge_after(10.0))
        });
        let (op, _) = desk.call();
        desk.wait(op, 10 * MS);
        assert_eq!(desk.settle(op, 1, Outcome::Transient), []);
        desk.settle(op, 2, Outcome::Ok);
        assert!(desk.is_idle());
    }
}
