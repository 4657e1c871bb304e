use super::super::options::{BudgetOptions, FailoverOptions};
use super::*;

mod refusals;

fn source() -> SourceOptions {
    SourceOptions {
        endpoints: 2,
        idempotent: true,
        ..SourceOptions::default()
    }
}

fn hedged(hedge: HedgeOptions) -> SourceOptions {
    SourceOptions {
        hedge: Some(hedge),
        ..source()
    }
}

fn plan(source: &SourceOptions, call: &CallOptions) -> Plan {
    Plan::new(source, call).expect("valid options")
}

fn refused(source: &SourceOptions, call: &CallOptions) -> String {
    Plan::new(source, call).expect_err("refused").to_string()
}

#[test]
fn every_policy_is_off_until_named() {
    let plan = plan(&source(), &CallOptions::default());
    let expected = Plan {
        timeout: None,
        max_attempts: 3,
        hedge: None,
        failover: None,
        retry: None,
    };
    assert_eq!(plan, expected);
}

#[test]
fn a_priority_turns_no_policy_on() {
    for priority in [Priority::High, Priority::Normal, Priority::Low] {
        let call = CallOptions {
            priority: Some(priority),
            ..CallOptions::default()
        };
        let plan = plan(&source(), &call);
        assert!(plan.hedge.is_none() && plan.failover.is_none() && plan.retry.is_none());
    }
}

#[test]
fn priorities_preset_timeout_hedge_delay_and_attempts() {
    let source = SourceOptions {
        retry: Some(RetryOptions::default()),
        ..hedged(HedgeOptions::default())
    };
    for (priority, timeout, delay, attempts) in [
        (Priority::High, 8_000, 120, 5),
        (Priority::Normal, 15_000, 200, 4),
        (Priority::Low, 25_000, 350, 2),
    ] {
        let call = CallOptions {
            priority: Some(priority),
            ..CallOptions::default()
        };
        let plan = plan(&source, &call);
        let hedge = plan.hedge.expect("on");
        assert_eq!(plan.timeout, Some(timeout * MS));
        assert_eq!((hedge.delay, hedge.initial_delay), (Some(delay * MS), delay * MS));
        assert_eq!(plan.max_attempts, attempts);
    }
}

#[test]
fn call_goes_before_source_before_priority_before_built_in() {
    let built_in = plan(&hedged(HedgeOptions::default()), &CallOptions::default());
    let hedge = built_in.hedge.expect("on");
    assert_eq!(
        (hedge.delay, hedge.initial_delay, hedge.max_hedges),
        (None, 200 * MS, 1)
    );
    assert!(hedge.cancel_loser);

    let named = SourceOptions {
        timeout_ms: Some(3_000.0),
        priority: Some(Priority::High),
        retry: Some(RetryOptions {
            max_attempts: Some(7.0),
            base_delay_ms: Some(10.0),
            max_delay_ms: Some(20.0),
        }),
        failover: Some(FailoverOptions {
            policy: Some(Policy::Random),
            respect_circuit_breaker: Some(false),
        }),
        ..hedged(HedgeOptions {
            delay: Some(HedgeDelay::Fixed(30.0)),
            initial_delay_ms: Some(40.0),
            max_hedges: Some(2.0),
            cancel_loser: Some(false),
            ..HedgeOptions::default()
        })
    };
    let of_source = Plan {
        timeout: Some(3_000 * MS),
        max_attempts: 7,
        hedge: Some(HedgePlan {
            delay: Some(30 * MS),
            initial_delay: 40 * MS,
            max_hedges: 2,
            cancel_loser: false,
        }),
        failover: Some(FailoverPlan {
            policy: Policy::Random,
            respect_circuit_breaker: false,
        }),
        retry: Some(RetryPlan {
            base: 10 * MS,
            max: 20 * MS,
        }),
    };
    let urgent = CallOptions {
        priority: Some(Priority::Low),
        ..CallOptions::default()
    };
    assert_eq!(plan(&named, &CallOptions::default()), of_source);
    assert_eq!(plan(&named, &urgent), of_source);

    let call = CallOptions {
        priority: None,
        timeout_ms: Some(500.0),
        hedge: Override::With(HedgeOptions {
            delay: Some(HedgeDelay::Auto),
            cancel_loser: Some(true),
            ..HedgeOptions::default()
        }),
        failover: Override::With(FailoverOptions {
            policy: Some(Policy::RoundRobin),
            respect_circuit_breaker: None,
        }),
        retry: Override::With(RetryOptions {
            max_attempts: Some(2.0),
            ..RetryOptions::default()
        }),
    };
    let expected = Plan {
        timeout: Some(500 * MS),
        max_attempts: 2,
        hedge: Some(HedgePlan {
            delay: None,
            initial_delay: 40 * MS,
            max_hedges: 2,
            cancel_loser: true,
        }),
        failover: Some(FailoverPlan {
            policy: Policy::RoundRobin,
            respect_circuit_breaker: false,
        }),
        retry: of_source.retry,
    };
    assert_eq!(plan(&named, &call), expected);

    let off = CallOptions {
        hedge: Override::Off,
        failover: Override::Off,
        retry: Override::Off,
        ..CallOptions::default()
    };
    let off = plan(&named, &off);
    assert!(off.hedge.is_none() && off.failover.is_none() && off.retry.is_none());
}

#[test]
fn shared_options_arrive_where_they_belong() {
    let hedge = HedgeOptions {
        quantile: Some(0.97),
        window_ms: Some(30_000.0),
        min_samples: Some(20.0),
        min_delay_ms: Some(3.0),
        budget: BudgetOptions {
            ratio: Some(0.05),
            burst: Some(4.0),
        },
        gate: true,
        max_in_flight: Some(10.0),
        ..HedgeOptions::default()
    };
    let shared = Shared::new(&hedge).expect("valid");
    let window = WindowOptions {
        length: 30_000 * MS,
        min_samples: 20,
        quantile: 0.97,
        floor: 3 * MS,
    };
    assert_eq!(shared.window, window);
    assert!(shared.asks);
    assert!((shared.budget.tokens() - 4.0).abs() < f64::EPSILON);
    assert_eq!(shared.gate, Gate::new(Some(10)));
}

#[test]
fn a_quantile_below_1_minus_ratio_is_raised_to_it() {
    for (ratio, quantile, effective) in [
        (None, None, 0.9),
        (None, Some(0.5), 0.9),
        (None, Some(0.95), 0.95),
        (Some(0.05), Some(0.9), 0.95),
        (Some(0.15), None, 0.85),
    ] {
        let hedge = HedgeOptions {
            quantile,
            budget: BudgetOptions { ratio, burst: None },
            ..HedgeOptions::default()
        };
        let shared = Shared::new(&hedge).expect("valid");
        assert!(
            (shared.window.quantile - effective).abs() < 1e-9,
            "{ratio:?} {quantile:?}"
        );
    }
}
