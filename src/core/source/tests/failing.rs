//! Failures, retries, deadlines and aborts.

use super::*;

fn retrying(retry: RetryOptions) -> SourceOptions {
    SourceOptions {
        retry: Some(retry),
        ..options(1)
    }
}

/// Lets the first attempts fail until the call is settled, and answers the waits between them.
fn backoffs(desk: &mut Desk) -> (Vec<Nanos>, Option<Rejection>) {
    let (op, _) = desk.call();
    let mut waits = Vec::new();
    let mut number = 1;
    loop {
        let actions = desk.settle(op, number, Outcome::Transient);
        if rejected(&actions).is_some() {
            return (waits, rejected(&actions));
        }
        let at = desk.source.next_due().expect("a backoff");
        waits.push(at - desk.now);
        let actions = desk.wait(op, at - desk.now);
        number += 1;
        assert_eq!(started(&actions), [(number, AttemptKind::Retry, 0)]);
        let told = Event::Retry {
            attempt: number,
            endpoint: 0,
            backoff: *waits.last().expect("pushed"),
        };
        assert_eq!(actions[0], Action::Tell(told));
    }
}

#[test]
fn retries_back_off_with_jitter_up_to_the_number_of_attempts() {
    let mut desk = Desk::new(retrying(RetryOptions::default()));
    let mut seen = Vec::new();
    for _ in 0..200 {
        let (waits, rejection) = backoffs(&mut desk);
        assert_eq!(waits.len(), 2, "three attempts");
        assert_eq!(rejection, Some(Rejection::Attempts));
        assert!(waits[0] <= 50 * MS && waits[1] <= 100 * MS);
        seen.extend(waits);
    }
    assert!(seen.iter().any(|wait| *wait > 90 * MS) && seen.iter().any(|wait| *wait < 5 * MS));
    assert!(desk.is_idle());
}

#[test]
fn no_backoff_is_begun_that_ends_at_the_deadline() {
    let failing = |left: Option<Nanos>| {
        let mut desk = Desk::new(retrying(RetryOptions::default()));
        let call = Call {
            deadline: left.map(|left| desk.now + left),
            ..Call::new(desk.source.plan(None))
        };
        let (op, _) = desk.call_with(&call);
        let rejection = rejected(&desk.settle(op, 1, Outcome::Transient));
        (desk.source.next_due().map(|at| at - desk.now), rejection)
    };
    let wait = failing(None).0.expect("a backoff");
    // The same seed draws the same wait.
    assert_eq!(failing(Some(wait)), (None, Some(Rejection::Attempt(1))));
    assert_eq!(failing(Some(wait + 1)), (Some(wait), None));
}

#[test]
fn the_knobs_of_retry_are_the_ones_that_were_named() {
    let mut desk = Desk::new(retrying(RetryOptions {
        max_attempts: Some(6.0),
        base_delay_ms: Some(1.0),
        max_delay_ms: Some(2.0),
    }));
    let (waits, _) = backoffs(&mut desk);
    assert_eq!(waits.len(), 5);
    assert!(waits[0] <= MS && waits.iter().all(|wait| *wait <= 2 * MS));
    let mut once = Desk::new(retrying(RetryOptions {
        max_attempts: Some(1.0),
        ..RetryOptions::default()
    }));
    assert_eq!(backoffs(&mut once), (vec![], Some(Rejection::Attempt(1))));
}

#[test]
fn a_transient_failure_before_the_hedges_delay_is_retried_now() {
    let mut desk = Desk::new(SourceOptions {
        retry: Some(RetryOptions::default()),
        ..hedged(1, hedge_after(500.0))
    });
    let (op, _) = desk.call();
    desk.wait(op, 5 * MS);
    desk.settle(op, 1, Outcome::Transient);
    let actions = desk.wait(op, 51 * MS);
    assert_eq!(started(&actions), [(2, AttemptKind::Retry, 0)]);
    // The hedge's delay counts from there.
    let due = desk.source.next_due().expect("a hedge");
    assert!(due > desk.now + 440 * MS, "{}", due - desk.now);
    assert_eq!(started(&desk.wait(op, 500 * MS)), [(3, AttemptKind::Hedge, 0)]);
}

#[test]
fn a_fatal_error_cancels_its_siblings_and_is_the_calls_own() {
    let mut desk = Desk::new(SourceOptions {
        failover: Some(FailoverOptions::default()),
        retry: Some(RetryOptions::default()),
        ..hedged(2, hedge_after(20.0))
    });
    let (op, _) = desk.call();
    desk.wait(op, 20 * MS);
    let expected = [
        Action::Cancel {
            attempt: 1,
            reason: CancelReason::SiblingFailed,
        },
        Action::Reject(Rejection::Attempt(2)),
    ];
    assert_eq!(desk.settle(op, 2, Outcome::Fatal), expected);
    assert!(desk.is_idle());
}

#[test]
fn at_the_deadline_everything_is_cancelled() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(100.0),
        ..hedged(1, hedge_after(20.0))
    });
    let (op, _) = desk.call();
    assert_eq!(started(&desk.wait(op, 100 * MS - 1)).len(), 1);
    let expected = [
        Action::Cancel {
            attempt: 1,
            reason: CancelReason::Deadline,
        },
        Action::Cancel {
            attempt: 2,
            reason: CancelReason::Deadline,
        },
        Action::Reject(Rejection::Deadline { given: false }),
    ];
    assert_eq!(desk.wait(op, 1), expected);
    assert_eq!(desk.ended(AttemptKind::Primary, AttemptOutcome::Timeout), 1);
    assert_eq!(desk.hedged(HedgeEvent::Failed), 1);
    assert!(desk.is_idle());
}

#[test]
fn a_result_at_the_deadline_is_late_though_no_timer_fired() {
    for outcome in [Outcome::Ok, Outcome::Transient, Outcome::Fatal] {
        let mut desk = Desk::new(SourceOptions {
            timeout_ms: Some(100.0),
            ..options(1)
        });
        let (op, _) = desk.call();
        desk.now += 100 * MS;
        let actions = desk.settle(op, 1, outcome);
        assert_eq!(rejected(&actions), Some(Rejection::Deadline { given: false }));
        assert!(desk.is_idle());
    }
}

#[test]
fn a_given_deadline_bounds_the_operations_own_budget() {
    for (given, own) in [(50_u32, 100_u32), (100, 50), (50, 50)] {
        let mut desk = Desk::new(SourceOptions {
            timeout_ms: Some(f64::from(own)),
            ..options(1)
        });
        let plan = desk.source.plan(None);
        let call = Call {
            deadline: Some(desk.now + u64::from(given) * MS),
            ..Call::new(plan)
        };
        let (op, _) = desk.call_with(&call);
        assert!(desk.wait(op, 50 * MS - 1).is_empty());
        let expected = Rejection::Deadline { given: given <= own };
        assert_eq!(rejected(&desk.wait(op, 1)), Some(expected));
    }
}

#[test]
fn a_call_without_time_or_already_aborted_starts_no_attempt() {
    let mut desk = Desk::new(options(1));
    let plan = desk.source.plan(None);
    let spent = Call {
        deadline: Some(desk.now),
        ..Call::new(plan)
    };
    let (_, actions) = desk.call_with(&spent);
    assert_eq!(actions, [Action::Reject(Rejection::Deadline { given: true })]);
    let aborted = Call { aborted: true, ..spent };
    let (_, actions) = desk.call_with(&aborted);
    assert_eq!(actions, [Action::Reject(Rejection::Aborted)], "an abort is no timeout");
    assert_eq!(desk.source.figures().started_total(AttemptKind::Primary), 0);
    assert!(desk.is_idle());
}

#[test]
fn an_abort_ends_attempts_and_backoffs_and_is_no_timeout() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(10_000.0),
        retry: Some(RetryOptions::default()),
        ..options(1)
    });
    let (op, _) = desk.call();
    let expected = [
        Action::Cancel {
            attempt: 1,
            reason: CancelReason::Aborted,
        },
        Action::Reject(Rejection::Aborted),
    ];
    assert_eq!(desk.abort(op), expected);
    let (op, _) = desk.call();
    desk.settle(op, 1, Outcome::Transient);
    assert_eq!(desk.abort(op), [Action::Reject(Rejection::Aborted)]);
    assert!(desk.is_idle());
    assert_eq!(desk.ended(AttemptKind::Primary, AttemptOutcome::Cancelled), 1);
}

#[test]
fn no_backoff_begins_that_cannot_end_in_time() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(40.0),
        ..retrying(RetryOptions {
            max_attempts: Some(4.0),
            base_delay_ms: Some(1_000.0),
            ..RetryOptions::default()
        })
    });
    let mut at_once = 0;
    for _ in 0..100 {
        let deadline = desk.now + 40 * MS;
        let (op, _) = desk.call();
        let actions = desk.settle(op, 1, Outcome::Transient);
        if let Some(rejection) = rejected(&actions) {
            assert_eq!(rejection, Rejection::Attempt(1), "its own error, not a timeout");
            at_once += 1;
        } else {
            assert!(desk.source.next_due().expect("a backoff") < deadline);
            desk.abort(op);
        }
    }
    assert!((80..100).contains(&at_once), "{at_once}");
    assert!(desk.is_idle());
}

#[test]
fn a_backoff_whose_timer_comes_too_late_starts_nothing() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(1_000.0),
        ..retrying(RetryOptions::default())
    });
    let (op, _) = desk.call();
    desk.settle(op, 1, Outcome::Transient);
    desk.now += SECOND;
    let mut out = Vec::new();
    desk.source.advance(desk.now, &mut out);
    assert_eq!(of(op, out), [Action::Reject(Rejection::Deadline { given: false })]);
}

#[test]
fn a_caller_that_has_waited_too_long_times_attempts_out_before_the_deadline_does() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(10_000.0),
        breaker: true,
        ..options(1)
    });
    for _ in 0..20 {
        let (op, _) = desk.call();
        let expected = [
            Action::Cancel {
                attempt: 1,
                reason: CancelReason::Deadline,
            },
            Action::Reject(Rejection::Deadline { given: false }),
        ];
        assert_eq!(desk.time_out(op), expected);
        assert!(desk.time_out(op).is_empty(), "settled");
    }
    assert_eq!(desk.ended(AttemptKind::Primary, AttemptOutcome::Timeout), 20);
    assert_eq!(desk.breakers(), [BreakerState::Open]);
    assert!(desk.is_idle());
}
