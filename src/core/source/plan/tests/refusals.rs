//! What is refused, by name and value.

use super::*;

#[test]
fn what_repeats_a_call_needs_idempotent() {
    let once = SourceOptions {
        idempotent: false,
        ..source()
    };
    assert!(Plan::new(&once, &CallOptions::default()).is_ok());
    for (policy, source) in [
        (
            "hedge",
            SourceOptions {
                hedge: Some(HedgeOptions::default()),
                ..once.clone()
            },
        ),
        (
            "failover",
            SourceOptions {
                failover: Some(FailoverOptions::default()),
                ..once.clone()
            },
        ),
        (
            "retry",
            SourceOptions {
                retry: Some(RetryOptions::default()),
                ..once.clone()
            },
        ),
    ] {
        let error = refused(&source, &CallOptions::default());
        assert!(error.starts_with(policy) && error.contains("idempotent"), "{error}");
    }
    let call = CallOptions {
        retry: Override::With(RetryOptions::default()),
        ..CallOptions::default()
    };
    assert!(refused(&once, &call).starts_with("retry"), "for one call, too");
}

#[test]
fn numbers_out_of_range_are_refused_by_name_and_value() {
    let retry = |retry| SourceOptions {
        retry: Some(retry),
        ..source()
    };
    let none = RetryOptions::default();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 2_147_483_648.0] {
        let cases = [
            (
                "timeoutMs",
                SourceOptions {
                    timeout_ms: Some(bad),
                    ..source()
                },
            ),
            (
                "hedge.delayMs",
                hedged(HedgeOptions {
                    delay: Some(HedgeDelay::Fixed(bad)),
                    ..HedgeOptions::default()
                }),
            ),
            (
                "hedge.initialDelayMs",
                hedged(HedgeOptions {
                    initial_delay_ms: Some(bad),
                    ..HedgeOptions::default()
                }),
            ),
        ];
        for (option, source) in cases {
            let error = refused(&source, &CallOptions::default());
            assert!(
                error.starts_with(option) && error.ends_with(&bad.to_string()),
                "{error}"
            );
        }
    }
    for bad in [-1.0, f64::NAN, 2_147_483_648.0] {
        for (option, options) in [
            (
                "retry.baseDelayMs",
                RetryOptions {
                    base_delay_ms: Some(bad),
                    ..none
                },
            ),
            (
                "retry.maxDelayMs",
                RetryOptions {
                    max_delay_ms: Some(bad),
                    ..none
                },
            ),
        ] {
            let error = refused(&retry(options), &CallOptions::default());
            assert!(
                error.starts_with(option) && error.ends_with(&bad.to_string()),
                "{error}"
            );
        }
    }
    for bad in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
        let attempts = RetryOptions {
            max_attempts: Some(bad),
            ..none
        };
        let hedges = HedgeOptions {
            max_hedges: Some(bad),
            ..HedgeOptions::default()
        };
        for (option, source) in [
            ("retry.maxAttempts", retry(attempts)),
            ("hedge.maxHedges", hedged(hedges)),
        ] {
            let error = refused(&source, &CallOptions::default());
            assert!(
                error.starts_with(option) && error.ends_with(&bad.to_string()),
                "{error}"
            );
        }
    }
}

type Case = (&'static str, fn(&mut HedgeOptions, f64), f64);

#[test]
fn what_calls_share_is_checked_by_name_and_value() {
    let with = |change: fn(&mut HedgeOptions, f64), value| {
        let mut hedge = HedgeOptions::default();
        change(&mut hedge, value);
        hedge
    };
    let cases: [Case; 10] = [
        (
            "hedge.budget.ratio",
            |hedge, value| hedge.budget.ratio = Some(value),
            0.151,
        ),
        (
            "hedge.budget.ratio",
            |hedge, value| hedge.budget.ratio = Some(value),
            0.0,
        ),
        (
            "hedge.budget.burst",
            |hedge, value| hedge.budget.burst = Some(value),
            0.0,
        ),
        (
            "hedge.budget.burst",
            |hedge, value| hedge.budget.burst = Some(value),
            2.5,
        ),
        ("hedge.quantile", |hedge, value| hedge.quantile = Some(value), 1.0),
        ("hedge.quantile", |hedge, value| hedge.quantile = Some(value), 95.0),
        ("hedge.windowMs", |hedge, value| hedge.window_ms = Some(value), 0.0),
        ("hedge.minSamples", |hedge, value| hedge.min_samples = Some(value), 0.0),
        ("hedge.minDelayMs", |hedge, value| hedge.min_delay_ms = Some(value), 0.0),
        (
            "hedge.maxInFlight",
            |hedge, value| hedge.max_in_flight = Some(value),
            0.0,
        ),
    ];
    for (option, change, value) in cases {
        let hedge = with(change, value);
        let error = Shared::new(&hedge).err().expect("refused").to_string();
        assert!(
            error.starts_with(option) && error.ends_with(&value.to_string()),
            "{error}"
        );
        let call = CallOptions {
            hedge: Override::With(hedge),
            ..CallOptions::default()
        };
        let error = refused(&source(), &call);
        assert!(error.starts_with(option) && error.contains("one call"), "{error}");
    }
}

#[test]
fn a_delay_beyond_the_timeout_is_refused_where_both_are_written() {
    let delay = |ms| HedgeOptions {
        delay: Some(HedgeDelay::Fixed(ms)),
        ..HedgeOptions::default()
    };
    let source = SourceOptions {
        timeout_ms: Some(100.0),
        ..hedged(delay(100.0))
    };
    let error = refused(&source, &CallOptions::default());
    assert!(error.contains("hedge.delayMs") && error.contains("100"), "{error}");
    let initial = SourceOptions {
        timeout_ms: Some(100.0),
        ..hedged(HedgeOptions {
            initial_delay_ms: Some(150.0),
            ..HedgeOptions::default()
        })
    };
    assert!(refused(&initial, &CallOptions::default()).contains("hedge.initialDelayMs"));
    let preset = SourceOptions {
        priority: Some(Priority::High),
        ..hedged(delay(8_000.0))
    };
    assert!(
        refused(&preset, &CallOptions::default()).contains("8000"),
        "a preset timeout counts"
    );

    // A call in more of a hurry than the source expected is no mistake.
    let calm = SourceOptions {
        timeout_ms: Some(1_000.0),
        ..hedged(delay(100.0))
    };
    let hurried = CallOptions {
        timeout_ms: Some(50.0),
        ..CallOptions::default()
    };
    assert!(Plan::new(&calm, &hurried).is_ok());
    let wrong = CallOptions {
        hedge: Override::With(delay(50.0)),
        ..hurried
    };
    assert!(refused(&calm, &wrong).contains("hedge.delayMs"));
    assert!(
        Plan::new(
            &hedged(delay(20_000.0)),
            &CallOptions {
                priority: Some(Priority::High),
                ..CallOptions::default()
            }
        )
        .is_ok()
    );
}

#[test]
fn a_first_backoff_above_the_longest_is_refused() {
    let retry = RetryOptions {
        base_delay_ms: Some(2_000.0),
        ..RetryOptions::default()
    };
    let source = SourceOptions {
        retry: Some(retry),
        ..source()
    };
    let error = refused(&source, &CallOptions::default());
    assert_eq!(
        error,
        "retry.baseDelayMs must not be above retry.maxDelayMs (1000), got 2000"
    );
    let short = CallOptions {
        retry: Override::With(RetryOptions {
            base_delay_ms: Some(1.0),
            max_delay_ms: Some(10.0),
            ..RetryOptions::default()
        }),
        ..CallOptions::default()
    };
    assert!(Plan::new(&source, &short).is_ok());
}
