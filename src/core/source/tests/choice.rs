//! Which endpoint attempts go to, and what breakers say to it.

use super::*;

fn failing_over(endpoints: usize, failover: FailoverOptions) -> SourceOptions {
    SourceOptions {
        failover: Some(failover),
        retry: Some(RetryOptions {
            max_attempts: Some(10.0),
            ..RetryOptions::default()
        }),
        ..options(endpoints)
    }
}

fn policy(policy: Policy) -> FailoverOptions {
    FailoverOptions {
        policy: Some(policy),
        ..FailoverOptions::default()
    }
}

/// Fails attempts until the first that is no failover, and answers where they went.
fn route(desk: &mut Desk) -> Vec<u32> {
    let (op, actions) = desk.call();
    let mut route = vec![started(&actions)[0].2];
    loop {
        let number = u32::try_from(route.len()).expect("few");
        let actions = desk.settle(op, number, Outcome::Transient);
        let &[(attempt, AttemptKind::Failover, endpoint)] = &started(&actions)[..] else {
            desk.abort(op);
            return route;
        };
        let told = Event::Failover {
            attempt,
            from: route[route.len() - 1],
            endpoint,
        };
        assert_eq!(actions[0], Action::Tell(told));
        route.push(endpoint);
    }
}

#[test]
fn sequential_is_the_order_of_preference_each_endpoint_once() {
    let mut desk = Desk::new(failing_over(4, FailoverOptions::default()));
    for _ in 0..3 {
        assert_eq!(route(&mut desk), [0, 1, 2, 3]);
    }
}

#[test]
fn round_robin_takes_the_others_in_turn() {
    let mut desk = Desk::new(failing_over(3, policy(Policy::RoundRobin)));
    let first_alternates: Vec<u32> = (0..6)
        .map(|_| {
            let (op, actions) = desk.call();
            assert_eq!(started(&actions)[0].2, 0, "preference");
            let actions = desk.settle(op, 1, Outcome::Transient);
            desk.abort(op);
            started(&actions)[0].2
        })
        .collect();
    assert_eq!(first_alternates, [1, 2, 1, 2, 1, 2]);
}

#[test]
fn random_takes_any_of_the_others_and_each_once() {
    let mut desk = Desk::new(failing_over(4, policy(Policy::Random)));
    let routes: Vec<Vec<u32>> = (0..100).map(|_| route(&mut desk)).collect();
    for route in &routes {
        let mut sorted = route.clone();
        sorted.sort_unstable();
        assert_eq!((route[0], sorted), (0, vec![0, 1, 2, 3]));
    }
    for endpoint in 1..4 {
        assert!(routes.iter().filter(|route| route[1] == endpoint).count() > 15);
    }
    let mut again = Desk::new(failing_over(4, policy(Policy::Random)));
    assert_eq!(route(&mut again), routes[0], "the same seed");
}

#[test]
fn a_transient_failure_before_the_hedges_delay_fails_over_now() {
    let mut desk = Desk::new(SourceOptions {
        hedge: Some(hedge_after(500.0)),
        ..failing_over(2, FailoverOptions::default())
    });
    let (op, _) = desk.call();
    desk.wait(op, 5 * MS);
    assert_eq!(
        started(&desk.settle(op, 1, Outcome::Transient)),
        [(2, AttemptKind::Failover, 1)]
    );
}

#[test]
fn without_failover_a_retry_stays_where_it_was_and_with_it_moves_on() {
    for (failover, endpoint) in [(None, 0), (Some(FailoverOptions::default()), 0)] {
        let mut desk = Desk::new(SourceOptions {
            failover,
            retry: Some(RetryOptions::default()),
            ..options(2)
        });
        let (op, _) = desk.call();
        desk.settle(op, 1, Outcome::Transient);
        let last = if failover.is_some() {
            desk.settle(op, 2, Outcome::Transient);
            3
        } else {
            2
        };
        let actions = desk.wait(op, 200 * MS);
        assert_eq!(started(&actions), [(last, AttemptKind::Retry, endpoint)]);
    }
}

#[test]
fn a_hedge_goes_to_an_alternate_when_there_is_one() {
    for (endpoints, hedged_at) in [(1, [0, 0]), (2, [1, 0]), (3, [1, 2])] {
        let hedge = HedgeOptions {
            max_hedges: Some(2.0),
            ..hedge_after(20.0)
        };
        let mut desk = Desk::new(hedged(endpoints, hedge));
        let (op, _) = desk.call();
        let at: Vec<u32> = started(&desk.wait(op, 40 * MS)).iter().map(|start| start.2).collect();
        assert_eq!(at, hedged_at, "{endpoints}");
    }
}

/// Opens the breaker of the first endpoint.
fn open_first(desk: &mut Desk) {
    for _ in 0..20 {
        let (op, _) = desk.call();
        desk.settle(op, 1, Outcome::Transient);
        desk.abort(op);
    }
    assert_eq!(desk.breakers()[0], BreakerState::Open);
}

fn guarded(endpoints: usize) -> SourceOptions {
    SourceOptions {
        breaker: true,
        ..options(endpoints)
    }
}

#[test]
fn without_a_breaker_nothing_opens() {
    let mut desk = Desk::new(options(1));
    for _ in 0..100 {
        let (op, _) = desk.call();
        desk.settle(op, 1, Outcome::Transient);
    }
    assert_eq!(started(&desk.call().1).len(), 1);
    assert_eq!(desk.breakers(), []);
}

#[test]
fn an_open_breaker_rejects_without_an_attempt_and_lets_one_probe_through() {
    let mut desk = Desk::new(guarded(2));
    open_first(&mut desk);
    let (_, actions) = desk.call();
    assert_eq!(
        actions,
        [Action::Reject(Rejection::BreakerOpen)],
        "no failover was named"
    );
    desk.pass(5 * SECOND);
    let (probe, actions) = desk.call();
    assert_eq!(started(&actions).len(), 1);
    assert_eq!(rejected(&desk.call().1), Some(Rejection::BreakerOpen));
    desk.settle(probe, 1, Outcome::Ok);
    assert_eq!(desk.breakers(), [BreakerState::Closed; 2]);
    assert_eq!(started(&desk.call().1).len(), 1);
}

#[test]
fn with_failover_the_primary_passes_an_open_breaker_by() {
    let mut desk = Desk::new(SourceOptions {
        failover: Some(FailoverOptions::default()),
        ..guarded(3)
    });
    open_first(&mut desk);
    let (op, actions) = desk.call();
    assert_eq!(started(&actions), [(1, AttemptKind::Primary, 1)]);
    let actions = desk.settle(op, 1, Outcome::Transient);
    assert_eq!(
        started(&actions),
        [(2, AttemptKind::Failover, 2)],
        "and so does the failover"
    );
}

#[test]
fn respect_circuit_breaker_false_goes_to_open_ones_too() {
    let failover = FailoverOptions {
        respect_circuit_breaker: Some(false),
        ..FailoverOptions::default()
    };
    let mut desk = Desk::new(SourceOptions {
        failover: Some(failover),
        ..guarded(2)
    });
    open_first(&mut desk);
    let (op, actions) = desk.call();
    assert_eq!(started(&actions), [(1, AttemptKind::Primary, 1)]);
    let actions = desk.settle(op, 1, Outcome::Transient);
    assert_eq!(started(&actions), [(2, AttemptKind::Failover, 0)]);
    let mut alone = Desk::new(SourceOptions {
        failover: Some(failover),
        ..guarded(1)
    });
    open_first(&mut alone);
    assert_eq!(started(&alone.call().1), [(1, AttemptKind::Primary, 0)]);
}

#[test]
fn a_hedge_never_probes_and_an_open_breaker_denies_it() {
    let mut desk = Desk::new(SourceOptions {
        hedge: Some(hedge_after(20.0)),
        retry: Some(RetryOptions {
            max_attempts: Some(2.0),
            ..RetryOptions::default()
        }),
        ..guarded(1)
    });
    open_first(&mut desk);
    desk.pass(5 * SECOND);
    let tokens = desk.source.tokens();
    let (probe, actions) = desk.call();
    assert_eq!(started(&actions).len(), 1);
    assert!(desk.wait(probe, SECOND).is_empty(), "only the probe");
    assert_eq!(desk.hedged(HedgeEvent::DeniedBreaker), 1);
    assert!(desk.source.tokens() >= tokens, "and it cost no token");
    desk.settle(probe, 1, Outcome::Ok);
    let (op, _) = desk.call();
    assert_eq!(started(&desk.wait(op, 20 * MS)).len(), 1);
}

#[test]
fn a_hedge_leaves_out_alternates_whose_breaker_is_open() {
    let mut desk = Desk::new(SourceOptions {
        hedge: Some(hedge_after(20.0)),
        failover: Some(FailoverOptions::default()),
        ..guarded(3)
    });
    open_first(&mut desk);
    let (op, _) = desk.call();
    assert_eq!(started(&desk.wait(op, 20 * MS)), [(2, AttemptKind::Hedge, 2)]);
    desk.settle(op, 2, Outcome::Ok);
    desk.pass(5 * SECOND);
    let (op, actions) = desk.call();
    assert_eq!(started(&actions)[0].2, 0, "the primary probes");
    assert_eq!(started(&desk.wait(op, 20 * MS)), [(2, AttemptKind::Hedge, 1)]);
    desk.settle(op, 2, Outcome::Ok);
    assert_eq!(
        desk.breakers()[0],
        BreakerState::HalfOpen,
        "a cancelled probe says nothing"
    );
    assert_eq!(started(&desk.call().1)[0].2, 0, "and the next call probes");
}

#[test]
fn a_cancelled_loser_counts_neither_as_success_nor_as_failure() {
    let mut desk = Desk::new(SourceOptions {
        hedge: Some(HedgeOptions {
            budget: BudgetOptions {
                burst: Some(100.0),
                ..BudgetOptions::default()
            },
            ..hedge_after(1.0)
        }),
        ..guarded(2)
    });
    // The hedges win at the second endpoint; nothing is known of the first.
    for _ in 0..40 {
        let (op, _) = desk.call();
        desk.wait(op, MS);
        desk.settle(op, 2, Outcome::Ok);
    }
    for _ in 0..19 {
        let (op, _) = desk.call();
        desk.settle(op, 1, Outcome::Fatal);
    }
    assert_eq!(desk.breakers()[0], BreakerState::Closed, "19 failures of 19 calls");
    let (op, _) = desk.call();
    desk.settle(op, 1, Outcome::Fatal);
    assert_eq!(
        desk.breakers()[0],
        BreakerState::Open,
        "20 of 20: no success among them"
    );
}

#[test]
fn a_timeout_is_a_failure_of_the_endpoint_and_an_abort_is_not() {
    let mut desk = Desk::new(SourceOptions {
        timeout_ms: Some(10.0),
        ..guarded(1)
    });
    for _ in 0..30 {
        let (op, _) = desk.call();
        desk.abort(op);
    }
    for _ in 0..20 {
        assert_eq!(desk.breakers(), [BreakerState::Closed]);
        let (op, _) = desk.call();
        desk.wait(op, 10 * MS);
    }
    assert_eq!(desk.breakers(), [BreakerState::Open]);
}

#[test]
fn a_retry_that_no_breaker_would_let_through_is_not_waited_for() {
    let mut desk = Desk::new(SourceOptions {
        retry: Some(RetryOptions::default()),
        ..guarded(1)
    });
    for _ in 0..19 {
        let (op, _) = desk.call();
        desk.settle(op, 1, Outcome::Fatal);
    }
    let (op, _) = desk.call();
    let actions = desk.settle(op, 1, Outcome::Transient);
    assert_eq!(
        actions,
        [Action::Reject(Rejection::Attempt(1))],
        "that was the 20th failure"
    );
}

#[test]
fn unknown_policies_and_statuses_are_refused_by_name_and_value() {
    assert_eq!(Policy::parse("sequential"), Ok(Policy::Sequential));
    assert_eq!(Policy::parse("round-robin"), Ok(Policy::RoundRobin));
    assert_eq!(Policy::parse("random"), Ok(Policy::Random));
    let error = Policy::parse("nearest").expect_err("unknown").to_string();
    assert!(
        error.contains("failover.policy") && error.contains("\"nearest\""),
        "{error}"
    );

    let usual = FAIL_ON_STATUSES.map(f64::from);
    assert_eq!(fail_on_statuses(&usual), Ok(FAIL_ON_STATUSES.to_vec()));
    for bad in [99.0, 600.0, 500.5, f64::NAN] {
        let error = fail_on_statuses(&[500.0, bad]).expect_err("refused").to_string();
        assert!(
            error.contains("failover.failOnStatuses") && error.ends_with(&bad.to_string()),
            "{error}"
        );
    }
}
