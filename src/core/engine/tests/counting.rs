use super::*;

#[test]
fn a_layer_that_is_off_is_counted_by_its_reason() {
    let mut engine = engine();
    let reasons = [
        (Leaf::Absent, Leaf::Absent, Counter::LocalPolicyDisabled),
        (Leaf::Number(0.5), Leaf::Absent, Counter::LocalInvalidTtl),
        (Leaf::Number(60.0), Leaf::Invalid, Counter::LocalInvalidRamp),
        (Leaf::Number(60.0), Leaf::Number(0.0), Counter::LocalRampedDown),
    ];
    for (ttl_local, ramp_local, counter) in reasons {
        let leaves = Leaves {
            ttl_local,
            ramp_local,
            ..Leaves::default()
        };
        let use_case = engine
            .register(&UseCaseOptions {
                key_type: "id",
                use_case: "A",
                tracked: false,
                call: CallOptions {
                    policy: leaves.resolve(),
                    read_timeout: Duration::from_millis(50),
                    source_timeout: None,
                    read_hedge: None,
                },
            })
            .unwrap();
        begin(&mut engine, use_case, "1", 0);
        assert_eq!(counted(&engine, counter), 1, "{counter:?}");
    }
    assert_eq!(counted(&engine, Counter::RemotePolicyDisabled), 4);
    assert_eq!(counted(&engine, Counter::LocalRequest), 0);
}

#[test]
fn an_uncached_call_runs_its_source_with_its_deadline_and_counts_no_layer() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    let flight = engine.begin_uncached(use_case, None, 0);
    let other = engine.begin_uncached(use_case, None, 0);
    assert_ne!(flight, other);
    assert!(matches!(
        run_source(&mut engine, flight, MS),
        Settled::Accepted {
            slot: None,
            write: false,
            joinable: false
        }
    ));
    engine.source_started(other, 0);
    assert_eq!(engine.pop_due(SEC), Some(Due::Source(other)));
    assert_eq!(engine.gauges().unanswered.leaders, 0);
    let layers = [
        Counter::LocalRequest,
        Counter::LocalPolicyDisabled,
        Counter::RemoteRequest,
        Counter::RemotePolicyDisabled,
    ];
    assert!(layers.into_iter().all(|counter| counted(&engine, counter) == 0));
    assert_eq!(counted(&engine, Counter::SourceCall), 2);
}

#[test]
fn what_was_counted_can_be_read_when_the_engine_is_gone() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    begin(&mut engine, use_case, "1", 0);
    let list = engine.counted().clone();
    drop(engine);
    assert_eq!(list.all()[0].counters.get(Counter::LocalMiss), 1);
}
