//! How a leader's source ends, when not with a value in time.

use super::*;

#[test]
fn a_source_that_times_out_publishes_nothing() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_settled(flight, ReadResult::Miss, MS);
    engine.source_started(flight, MS);
    assert_eq!(engine.pop_due(MS + SEC), Some(Due::Source(flight)));
    assert_eq!(engine.source_settled(flight, true, MS + SEC), Settled::Stale);
    assert_eq!(engine.gauges().local_entries, 0);
    assert!(matches!(begin(&mut engine, use_case, "1", 2 * SEC), Begin::Read(_)));
}

#[test]
fn a_result_after_the_source_deadline_is_a_timeout_though_no_timer_fired() {
    for ok in [true, false] {
        let mut engine = engine();
        let use_case = register(&mut engine, "A", &LOCAL);
        let Begin::Source(flight) = begin(&mut engine, use_case, "1", 0) else {
            panic!("reads Redis");
        };
        engine.source_started(flight, 0);
        assert_eq!(engine.source_settled(flight, ok, SEC), Settled::TimedOut);
        assert_eq!(engine.gauges().timers, 0);
        assert_eq!(engine.gauges().local_entries, 0);
    }
}

#[test]
fn a_failed_source_ends_the_flight_and_publishes_nothing() {
    let mut engine = engine();
    let use_case = register(&mut engine, "A", &BOTH);
    let flight = read(&mut engine, use_case, "1", 0);
    engine.read_settled(flight, ReadResult::Miss, MS);
    engine.source_started(flight, MS);
    assert_eq!(engine.source_settled(flight, false, 2 * MS), Settled::Failed);
    assert_eq!(engine.gauges().local_entries, 0);
    assert!(matches!(begin(&mut engine, use_case, "1", 3 * MS), Begin::Read(_)));
}
