//! Which calls are shadowed, and how an engine keeps their jobs.

use super::super::super::ramp;
use super::super::super::shadow::{Next, Origin, Outcome, Told};
use super::*;

const ALL: Leaf = Leaf::Number(100.0);
const NONE: Leaf = Leaf::Number(0.0);

fn shadowed(engine: &mut Engine, leaves: Leaves, tracked: bool, source_timeout: Option<Duration>) -> UseCaseId {
    engine
        .register(&UseCaseOptions {
            key_type: "user_id",
            use_case: "Get User",
            tracked,
            call: CallOptions {
                policy: leaves.resolve(),
                read_timeout: Duration::from_millis(50),
                source_timeout,
                read_hedge: None,
            },
        })
        .expect("its parts are well-formed")
}

fn served() -> Leaves {
    Leaves {
        ttl_remote: Leaf::Number(60.0),
        shadow_ramp: ALL,
        ..Leaves::default()
    }
}

fn ramped_down() -> Leaves {
    Leaves {
        ramp_remote: NONE,
        log_mismatches: Some(true),
        ..served()
    }
}

/// What is planned for the leader of such a call.
fn plan(leaves: Leaves) -> ShadowPlan {
    let mut engine = engine();
    let use_case = shadowed(&mut engine, leaves, false, None);
    match begin(&mut engine, use_case, "1", 0) {
        Begin::Read(flight) | Begin::Source(flight) => engine.shadow_plan(flight),
        other => panic!("no leader: {other:?}"),
    }
}

#[test]
fn a_call_is_shadowed_when_it_reaches_the_redis_layer() {
    let sampled = |origin, log_mismatches| ShadowPlan::Sampled {
        origin,
        ttl_ms: 60_000,
        log_mismatches,
    };
    assert_eq!(plan(served()), sampled(Origin::Served, false));
    assert_eq!(plan(ramped_down()), sampled(Origin::RampedDown, true));
    let fraction = Leaves {
        ramp_remote: Leaf::Number(f64::MIN_POSITIVE),
        ..ramped_down()
    };
    assert_eq!(plan(fraction), sampled(Origin::RampedDown, true));
    for unreached in [
        Leaves {
            ttl_remote: Leaf::Absent,
            ..ramped_down()
        },
        Leaves {
            ttl_remote: Leaf::Number(0.5),
            ..ramped_down()
        },
        Leaves {
            ramp_remote: Leaf::Number(101.0),
            ..ramped_down()
        },
    ] {
        assert_eq!(plan(unreached), ShadowPlan::None, "{unreached:?}");
    }
}

#[test]
fn a_shadow_ramp_that_is_none_is_told_where_it_would_have_mattered() {
    for bad in [Leaf::Invalid, Leaf::Number(-1.0), Leaf::Number(100.5)] {
        let with = |leaves| Leaves {
            shadow_ramp: bad,
            ..leaves
        };
        assert_eq!(plan(with(served())), ShadowPlan::Invalid);
        assert_eq!(plan(with(ramped_down())), ShadowPlan::Invalid);
        let off = Leaves {
            ttl_remote: Leaf::Absent,
            ..served()
        };
        assert_eq!(plan(with(off)), ShadowPlan::None);
    }
}

#[test]
fn keys_are_sampled_by_the_hash_of_key_and_shadow() {
    let mut engine = engine();
    let leaves = Leaves {
        shadow_ramp: Leaf::Number(30.0),
        ..served()
    };
    let use_case = shadowed(&mut engine, leaves, false, None);
    let mut sampled = 0;
    for id in 0..1_000 {
        let Begin::Read(flight) = begin(&mut engine, use_case, &id.to_string(), 0) else {
            panic!("no leader");
        };
        let admitted = ramp::admits(30.0, &format!("urn:user_id:{id}#Get%20User"), "shadow");
        assert_eq!(engine.shadow_plan(flight) != ShadowPlan::None, admitted, "{id}");
        sampled += u32::from(admitted);
    }
    assert!((200..400).contains(&sampled), "{sampled}");
}

#[test]
fn a_job_reads_and_writes_the_keys_of_its_call() {
    let mut engine = engine();
    let use_case = shadowed(&mut engine, ramped_down(), true, None);
    let Ok(Begin::Source(flight)) = engine.begin(use_case, None, "a b", "?x=1", 0) else {
        panic!("no leader");
    };
    let job = engine.begin_shadow(flight, 0).expect("there is room");
    let keys = engine.shadow_keys(job).expect("it is there");
    assert_eq!(keys.logical, "{urn:user_id:a%20b}?x=1#Get%20User");
    assert_eq!(keys.value, "{urn:user_id:a%20b}?x=1#Get%20User:dialcache-frame-v1");
    assert_eq!(keys.watermark.as_deref(), Some("{urn:user_id:a%20b}#watermark"));
    assert_eq!(
        engine.begin_shadow(flight, 0),
        Err(NoJob::Dropped),
        "one of this key is under way"
    );
}

#[test]
fn a_job_has_the_time_of_a_source_or_a_minute_and_holds_no_process() {
    for (source_timeout, timeout) in [(Some(Duration::from_secs(2)), 2 * SEC), (None, 60 * SEC)] {
        let mut engine = engine();
        let use_case = shadowed(&mut engine, ramped_down(), false, source_timeout);
        let Begin::Source(flight) = begin(&mut engine, use_case, "1", 0) else {
            panic!("no leader");
        };
        let job = engine.begin_shadow(flight, 0).expect("there is room");
        assert!(engine.timer_changed());
        assert_eq!(
            engine.timer(),
            Timer {
                at: Some(timeout),
                referenced: false
            }
        );
        assert_eq!(engine.gauges().shadows, 1);
        assert_eq!(engine.gauges().timers, 1);
        assert_eq!(engine.pop_due(timeout - 1), None);
        assert_eq!(engine.pop_due(timeout), Some(Due::Shadow(job)));
        assert_eq!(engine.pop_due(timeout), None);
        assert_eq!(
            engine.tell_shadow(job, Told::Due, timeout),
            Next::Done(Outcome::Timeout)
        );
        assert_eq!(engine.gauges().shadows, 0);
    }
}

#[test]
fn the_callers_deadline_is_due_before_the_jobs() {
    let mut engine = engine();
    let use_case = shadowed(&mut engine, ramped_down(), false, Some(Duration::from_secs(1)));
    let Begin::Source(flight) = begin(&mut engine, use_case, "1", 0) else {
        panic!("no leader");
    };
    engine.source_started(flight, 0);
    let job = engine.begin_shadow(flight, 0).expect("there is room");
    assert_eq!(engine.pop_due(SEC), Some(Due::Source(flight)));
    assert_eq!(engine.pop_due(SEC), Some(Due::Shadow(job)));
}

#[test]
fn an_invalidation_bars_the_jobs_of_its_id() {
    let mut engine = engine();
    let use_case = shadowed(&mut engine, ramped_down(), true, None);
    let Begin::Source(flight) = begin(&mut engine, use_case, "1", 0) else {
        panic!("no leader");
    };
    let job = engine.begin_shadow(flight, 0).expect("there is room");
    engine.tell_shadow(job, Told::Started, 0);
    engine.tell_shadow(job, Told::Miss, 0);
    engine.tell_shadow(job, Told::SourceOk, 0);
    engine.invalidate("user_id", "1").expect("a key");
    assert_eq!(
        engine.tell_shadow(job, Told::Answered, 0),
        Next::Done(Outcome::FillBlocked)
    );
}

#[test]
fn after_closing_no_job_begins() {
    let mut engine = engine();
    let use_case = shadowed(&mut engine, served(), false, None);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_settled(flight, ReadResult::Hit, MS);
    engine.close_remote(MS);
    assert_eq!(engine.begin_shadow(flight, MS), Err(NoJob::Unsampled));
}
