//! Tracked keys: when their values are local, and what an invalidation reaches.

use super::*;

const TRACKED: Policies = Policies { tracked: true, ..BOTH };

/// A tracked value that Redis has stamped, and its slot.
fn stamped(engine: &mut Engine, use_case: UseCaseId, id: &str, now: u64) -> Slot {
    let flight = read(engine, use_case, id, now);
    engine.read_settled(flight, ReadResult::Miss, now);
    let settled = run_source(engine, flight, now);
    assert_eq!(
        settled,
        Settled::Accepted {
            slot: None,
            write: true,
            joinable: true
        }
    );
    engine
        .write_settled(flight, WriteResult::Stored, now)
        .expect("the stamp lets it in")
}

#[test]
fn a_tracked_value_is_local_from_its_stamp_on_and_joinable_until_then() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &TRACKED);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_settled(flight, ReadResult::Miss, 0);
    run_source(&mut engine, flight, MS);
    assert_eq!(begin(&mut engine, use_case, "1", 2 * MS), Begin::Join(flight));
    let slot = engine.write_settled(flight, WriteResult::Stored, 3 * MS).unwrap();
    assert_eq!(begin(&mut engine, use_case, "1", 4 * MS), Begin::Hit(slot));
    let over = 3 * MS + 60 * SEC;
    assert_eq!(begin(&mut engine, use_case, "1", over - 1), Begin::Hit(slot));
    assert!(
        matches!(begin(&mut engine, use_case, "1", over), Begin::Read(_)),
        "its TTL counts from then"
    );
}

#[test]
fn a_fenced_or_failed_write_keeps_a_tracked_value_out_and_not_an_untracked_one() {
    for outcome in [WriteResult::Fenced, WriteResult::Failed] {
        let mut engine = engine();
        let use_case = register(&mut engine, "A", &TRACKED);
        let flight = read(&mut engine, use_case, "1", 0);
        engine.read_settled(flight, ReadResult::Miss, 0);
        run_source(&mut engine, flight, 0);
        assert_eq!(engine.write_settled(flight, outcome, 0), None);
        assert!(matches!(begin(&mut engine, use_case, "1", 0), Begin::Read(_)));
        assert_eq!(engine.gauges().local_entries, 0);

        let untracked = register(&mut engine, "B", &BOTH);
        let flight = read(&mut engine, untracked, "1", 0);
        engine.read_settled(flight, ReadResult::Miss, 0);
        run_source(&mut engine, flight, 0);
        engine.write_settled(flight, outcome, 0);
        assert!(matches!(begin(&mut engine, untracked, "1", 0), Begin::Hit(_)));
    }
}

#[test]
fn an_invalidation_drops_every_local_value_of_its_id_and_no_other() {
    let mut engine = engine();
    let first = register(&mut engine, "A", &TRACKED);
    let second = register(&mut engine, "B", &TRACKED);
    let untracked = register(&mut engine, "C", &LOCAL);
    for use_case in [first, second] {
        stamped(&mut engine, use_case, "1", 0);
        stamped(&mut engine, use_case, "2", 0);
    }
    assert!(!engine.has_freed());
    let Begin::Source(flight) = begin(&mut engine, untracked, "1", 0) else {
        panic!("reads Redis");
    };
    run_source(&mut engine, flight, 0);
    assert_eq!(engine.invalidate("id", "1").unwrap(), "{urn:id:1}#watermark");
    for use_case in [first, second] {
        assert!(matches!(begin(&mut engine, use_case, "1", MS), Begin::Read(_)));
        assert!(matches!(begin(&mut engine, use_case, "2", MS), Begin::Hit(_)));
    }
    assert!(matches!(begin(&mut engine, untracked, "1", MS), Begin::Hit(_)));
    assert!(engine.has_freed());
    assert_eq!(engine.take_freed().len(), 2);
    assert!(!engine.has_freed());
}

#[test]
fn loads_that_an_invalidation_overtook_are_neither_joined_nor_kept() {
    for stage in 0..4 {
        let mut engine = engine();
        let use_case = register(&mut engine, "A", &TRACKED);
        let flight = read(&mut engine, use_case, "1", 0);
        let advance = |engine: &mut Engine, to: u32| match to {
            0 => assert_eq!(engine.read_settled(flight, ReadResult::Miss, 0), AfterRead::Miss),
            1 => engine.source_started(flight, 0),
            2 => assert!(matches!(
                engine.source_settled(flight, true, 0),
                Settled::Accepted { slot: None, .. }
            )),
            _ => assert_eq!(engine.write_settled(flight, WriteResult::Stored, 0), None),
        };
        for step in 0..stage {
            advance(&mut engine, step);
        }
        engine.invalidate("id", "1").unwrap();
        let fresh = read(&mut engine, use_case, "1", 0);
        assert_ne!(fresh, flight, "after stage {stage}");
        for step in stage..4 {
            advance(&mut engine, step);
        }
        assert_eq!(engine.gauges().local_entries, 0);
        assert_eq!(begin(&mut engine, use_case, "1", 0), Begin::Join(fresh));
    }
}

#[test]
fn a_tracked_key_refuses_braces_and_an_untracked_one_does_not() {
    let mut engine = engine();
    let tracked = register(&mut engine, "A", &TRACKED);
    let untracked = register(&mut engine, "B", &REMOTE);
    assert_eq!(engine.begin(tracked, None, "a{b", "", 0), Err(KeyError::BraceInId));
    assert!(engine.begin(untracked, None, "a{b", "", 0).is_ok());
    assert!(engine.invalidate("id", "a}b").is_err());
    assert!(engine.invalidate("i{d", "a").is_err());
}
