mod hedged;
mod identity;
mod model;
mod shadow;
mod source;
mod tracked;

use std::time::Duration;

use super::super::chain::{AfterRead, Next, ReadResult};
use super::super::flight::Unanswered;
use super::super::policy::{Leaf, Leaves, OffReason};
use super::*;

mod counting;

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;

struct Policies {
    local: Option<f64>,
    remote: Option<f64>,
    ramp_local: Leaf,
    ramp_remote: Leaf,
    coalesce: bool,
    tracked: bool,
}

const BOTH: Policies = Policies {
    local: Some(60.0),
    remote: Some(600.0),
    ramp_local: Leaf::Absent,
    ramp_remote: Leaf::Absent,
    coalesce: true,
    tracked: false,
};
const REMOTE: Policies = Policies { local: None, ..BOTH };
const LOCAL: Policies = Policies { remote: None, ..BOTH };
const NEITHER: Policies = Policies {
    local: None,
    remote: None,
    ..BOTH
};

fn engine() -> Engine {
    evicting(Eviction::Lru, 100)
}

fn evicting(eviction: Eviction, local_max_size: u64) -> Engine {
    Engine::new(EngineOptions {
        namespace: "urn".into(),
        local_max_size,
        eviction,
        remote: true,
        times_reads: true,
        shadow_max_in_flight: 1,
    })
}

fn register(engine: &mut Engine, name: &str, policies: &Policies) -> UseCaseId {
    let leaf = |ttl: Option<f64>| ttl.map_or(Leaf::Absent, Leaf::Number);
    let leaves = Leaves {
        ttl_local: leaf(policies.local),
        ttl_remote: leaf(policies.remote),
        ramp_local: policies.ramp_local,
        ramp_remote: policies.ramp_remote,
        coalesce: Some(policies.coalesce),
        ..Leaves::default()
    };
    engine
        .register(&UseCaseOptions {
            key_type: "id",
            use_case: name,
            tracked: policies.tracked,
            call: CallOptions {
                policy: leaves.resolve(),
                read_timeout: Duration::from_millis(50),
                source_timeout: Some(Duration::from_secs(1)),
                read_hedge: None,
            },
        })
        .unwrap()
}

fn begin(engine: &mut Engine, use_case: UseCaseId, id: &str, now: u64) -> Begin {
    engine.begin(use_case, None, id, "", now).unwrap()
}

fn read(engine: &mut Engine, use_case: UseCaseId, id: &str, now: u64) -> FlightId {
    match begin(engine, use_case, id, now) {
        Begin::Read(flight) => flight,
        other => panic!("not a leader that reads: {other:?}"),
    }
}

fn run_source(engine: &mut Engine, flight: FlightId, now: u64) -> Settled {
    engine.source_started(flight, now);
    engine.source_settled(flight, true, now)
}

fn counted(engine: &Engine, counter: Counter) -> u64 {
    let all = engine.counted().all();
    all.iter().map(|counted| counted.counters.get(counter)).sum()
}

#[test]
fn a_miss_everywhere_leads_once_and_is_kept_until_its_ttl_is_over() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    let flight = read(&mut engine, use_case, "1", 0);
    assert_eq!(begin(&mut engine, use_case, "1", MS), Begin::Join(flight));
    assert_eq!(engine.read_settled(flight, ReadResult::Miss, 2 * MS), AfterRead::Miss);
    assert_eq!(begin(&mut engine, use_case, "1", 3 * MS), Begin::Join(flight));
    let Settled::Accepted {
        slot: Some(slot),
        write: true,
        joinable: false,
    } = run_source(&mut engine, flight, 4 * MS)
    else {
        panic!("not accepted in full");
    };
    assert_eq!(begin(&mut engine, use_case, "1", 5 * MS), Begin::Hit(slot));
    engine.write_settled(flight, WriteResult::Stored, 0);
    assert_eq!(
        begin(&mut engine, use_case, "1", 4 * MS + 60 * SEC - 1),
        Begin::Hit(slot)
    );
    assert!(matches!(
        begin(&mut engine, use_case, "1", 4 * MS + 60 * SEC),
        Begin::Read(_)
    ));
    assert_eq!(counted(&engine, Counter::SourceCall), 1);
    assert_eq!(counted(&engine, Counter::WriteOk), 1);
    assert_eq!(counted(&engine, Counter::Coalesced), 2);
}

#[test]
fn followers_arm_no_deadline_and_share_what_is_left_of_the_leaders() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    let flight = read(&mut engine, use_case, "1", 0);
    for now in [10, 20, 49] {
        assert_eq!(begin(&mut engine, use_case, "1", now * MS), Begin::Join(flight));
    }
    assert_eq!(engine.gauges().timers, 1);
    assert_eq!(counted(&engine, Counter::ReadDeadlineArmed), 1);
    assert_eq!(engine.pop_due(50 * MS - 1), None);
    assert_eq!(engine.pop_due(50 * MS), Some(Due::Read(flight)));
    assert_eq!(engine.gauges().timers, 0);
}

#[test]
fn a_timed_out_read_runs_the_source_keeps_the_value_here_and_writes_nothing() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    let flight = read(&mut engine, use_case, "1", 0);
    assert_eq!(engine.pop_due(50 * MS), Some(Due::Read(flight)));
    assert_eq!(engine.read_settled(flight, ReadResult::Hit, 51 * MS), AfterRead::Stale);
    let settled = run_source(&mut engine, flight, 60 * MS);
    assert!(matches!(
        settled,
        Settled::Accepted {
            slot: Some(_),
            write: false,
            joinable: false
        }
    ));
    assert_eq!(counted(&engine, Counter::ReadTimeout), 1);
    assert_eq!(counted(&engine, Counter::WriteSkipped), 1);
    assert_eq!(engine.gauges().unanswered, Unanswered::default());
    assert_eq!(engine.gauges().lingering, 0);
}

#[test]
fn the_call_after_a_timeout_reads_afresh() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let first = read(&mut engine, use_case, "1", 0);
    engine.pop_due(50 * MS);
    run_source(&mut engine, first, 60 * MS);
    let second = read(&mut engine, use_case, "1", 61 * MS);
    assert_eq!(engine.read_settled(second, ReadResult::Hit, 62 * MS), AfterRead::Load);
    assert_eq!(engine.loaded(second, 62 * MS), None);
    assert_eq!(engine.gauges().timers, 0);
}

#[test]
fn a_write_that_never_settles_keeps_its_flight_joinable_for_one_read_budget() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_settled(flight, ReadResult::Miss, MS);
    let settled = run_source(&mut engine, flight, 2 * MS);
    assert_eq!(
        settled,
        Settled::Accepted {
            slot: None,
            write: true,
            joinable: true
        }
    );
    assert_eq!(engine.gauges().unanswered, Unanswered::default());
    assert_eq!(begin(&mut engine, use_case, "1", 51 * MS), Begin::Join(flight));
    let timer = engine.timer();
    assert_eq!((timer.at, timer.referenced), (Some(52 * MS), false));
    assert!(matches!(begin(&mut engine, use_case, "1", 52 * MS), Begin::Read(other) if other != flight));
    assert_eq!(engine.pop_due(52 * MS), Some(Due::Linger(flight)));
    engine.write_settled(flight, WriteResult::Failed, 0);
    assert_eq!(counted(&engine, Counter::WriteFailed), 1);
}

#[test]
fn a_settled_write_ends_its_flight() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_settled(flight, ReadResult::Miss, MS);
    run_source(&mut engine, flight, 2 * MS);
    engine.write_settled(flight, WriteResult::Stored, 0);
    assert!(matches!(begin(&mut engine, use_case, "1", 3 * MS), Begin::Read(_)));
    assert_eq!(engine.gauges().timers, 1);
}

#[test]
fn a_value_the_local_layer_refused_stays_joinable_until_it_is_written() {
    let mut engine = evicting(Eviction::TinyLfu, 1);
    let use_case = register(&mut engine, "A", &BOTH);
    let hot = read(&mut engine, use_case, "hot", 0);
    engine.read_settled(hot, ReadResult::Miss, MS);
    run_source(&mut engine, hot, MS);
    engine.write_settled(hot, WriteResult::Stored, 0);
    for _ in 0..20 {
        assert!(matches!(begin(&mut engine, use_case, "hot", MS), Begin::Hit(_)));
    }

    let cold = read(&mut engine, use_case, "cold", 2 * MS);
    engine.read_settled(cold, ReadResult::Miss, 2 * MS);
    assert_eq!(
        run_source(&mut engine, cold, 2 * MS),
        Settled::Accepted {
            slot: None,
            write: true,
            joinable: true
        }
    );
    assert_eq!(begin(&mut engine, use_case, "cold", 3 * MS), Begin::Join(cold));
    engine.write_settled(cold, WriteResult::Stored, 0);
    assert!(matches!(begin(&mut engine, use_case, "cold", 4 * MS), Begin::Read(_)));
    assert!(engine.has_freed(), "the refused slot goes back");
}

#[test]
fn a_follower_skips_the_local_layer_as_its_leader_does() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let flight = read(&mut engine, use_case, "1", 0);
    assert_eq!(begin(&mut engine, use_case, "1", 0), Begin::Join(flight));
    let skipped = Trace {
        local: LayerTrace::Off(OffReason::PolicyDisabled),
        remote: LayerTrace::Absent,
    };
    assert_eq!(engine.trace(), skipped);
    assert_eq!(counted(&engine, Counter::LocalPolicyDisabled), 2);
    assert_eq!(counted(&engine, Counter::RemoteRequest), 1);
}

#[test]
fn a_read_that_never_began_has_failed_but_armed_no_deadline() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_refused(flight, 0);
    assert_eq!(engine.gauges().timers, 0);
    assert_eq!(counted(&engine, Counter::ReadDeadlineArmed), 0);
    assert_eq!(counted(&engine, Counter::ReadFailed), 1);
    let settled = run_source(&mut engine, flight, MS);
    assert!(matches!(settled, Settled::Accepted { write: false, .. }));
}

#[test]
fn without_coalescing_every_caller_does_its_own_work() {
    let mut engine = engine();
    let use_case = register(
        &mut engine,
        "A",
        &Policies {
            coalesce: false,
            ..BOTH
        },
    );
    let first = read(&mut engine, use_case, "1", 0);
    let second = read(&mut engine, use_case, "1", 0);
    assert_ne!(first, second);
    assert_eq!(engine.gauges().unanswered.leaders, 0);
    assert_eq!(engine.gauges().timers, 2);
}

#[test]
fn calls_share_their_work_though_the_local_layer_has_no_room_for_the_value() {
    let mut engine = evicting(Eviction::Lru, 0);
    let use_case = register(&mut engine, "A", &LOCAL);
    let Begin::Source(flight) = begin(&mut engine, use_case, "1", 0) else {
        panic!("reads Redis");
    };
    assert_eq!(begin(&mut engine, use_case, "1", 0), Begin::Join(flight));
    assert_eq!(engine.trace().local, LayerTrace::Off(OffReason::PolicyDisabled));
    assert_eq!(
        run_source(&mut engine, flight, MS),
        Settled::Accepted {
            slot: None,
            write: false,
            joinable: false
        }
    );
    assert!(matches!(begin(&mut engine, use_case, "1", MS), Begin::Source(_)));
}

#[test]
fn calls_with_every_layer_off_share_nothing_but_have_a_source_deadline() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &NEITHER);
    let Begin::Source(first) = begin(&mut engine, use_case, "1", 0) else {
        panic!("reads Redis");
    };
    let Begin::Source(second) = begin(&mut engine, use_case, "1", 0) else {
        panic!("joined");
    };
    assert_ne!(first, second);
    engine.source_started(first, 0);
    assert_eq!(engine.gauges().timers, 1);
    assert_eq!(engine.trace().local, LayerTrace::Off(OffReason::PolicyDisabled));
}

#[test]
fn closing_fails_the_reads_under_way_and_turns_redis_off() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let reading = read(&mut engine, use_case, "1", 0);
    let sourcing = read(&mut engine, use_case, "2", 0);
    engine.read_settled(sourcing, ReadResult::Miss, MS);
    engine.source_started(sourcing, MS);
    assert_eq!(engine.close_remote(MS), [reading]);
    let settled = engine.source_settled(sourcing, true, 2 * MS);
    assert_eq!(
        settled,
        Settled::Accepted {
            slot: None,
            write: false,
            joinable: false
        }
    );
    assert!(matches!(begin(&mut engine, use_case, "3", 3 * MS), Begin::Source(_)));
}

#[test]
fn the_timer_is_set_anew_only_for_an_earlier_deadline_or_another_reference() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    let first = read(&mut engine, use_case, "1", 0);
    assert!(engine.timer_changed());
    assert_eq!(engine.timer().at, Some(50 * MS));
    let second = read(&mut engine, use_case, "2", MS);
    assert!(!engine.timer_changed());
    engine.read_settled(first, ReadResult::Miss, 2 * MS);
    assert!(!engine.timer_changed(), "firing early is cheaper than setting anew");
    engine.read_settled(second, ReadResult::Miss, 2 * MS);
    assert!(engine.timer_changed());
    assert_eq!(engine.timer().at, None);
}

#[test]
fn the_timer_is_set_anew_for_what_is_earlier_and_not_for_what_is_later() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &REMOTE);
    assert!(!engine.timer_changed(), "there is nothing to set");
    let mut call = engine.registry.use_case(use_case).call;
    for (at, ms, changed) in [("1", 50, true), ("2", 60, false), ("3", 40, true), ("4", 40, false)] {
        call.read_timeout = Duration::from_millis(ms);
        engine.begin(use_case, Some(&call), at, "", 0).unwrap();
        assert_eq!(engine.timer_changed(), changed, "{ms}");
        engine.timer();
    }
    assert_eq!(engine.timer().at, Some(40 * MS));
}
