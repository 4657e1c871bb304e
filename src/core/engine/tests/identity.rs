//! Who shares entries and flights with whom.

use super::*;

#[test]
fn use_cases_arguments_and_ids_never_share() {
    let mut engine = engine();
    let first = register(&mut engine, "A", &LOCAL);
    let second = register(&mut engine, "B", &LOCAL);
    let mut flights = Vec::new();
    let keys = [
        ("1", ""),
        ("1?a=1", ""),
        ("1", "?a=1"),
        ("", ""),
        ("1", "?a=11"),
        ("11", ""),
    ];
    for use_case in [first, second] {
        for (id, args) in keys {
            match engine.begin(use_case, None, id, args, 0).unwrap() {
                Begin::Source(flight) => flights.push(flight),
                other => panic!("{id} {args} shared: {other:?}"),
            }
        }
    }
    flights.dedup();
    assert_eq!(flights.len(), 2 * keys.len());
}

#[test]
fn one_name_registered_twice_is_one_identity() {
    let mut engine = engine();
    let first = register(&mut engine, "A", &LOCAL);
    let second = register(&mut engine, "A", &LOCAL);
    let Begin::Source(flight) = begin(&mut engine, first, "1", 0) else {
        panic!("reads Redis");
    };
    assert_eq!(begin(&mut engine, second, "1", 0), Begin::Join(flight));
}

#[test]
fn the_redis_key_is_made_of_the_flights_own_parts() {
    let mut engine = engine();
    let use_case = register(&mut engine, "Get", &REMOTE);
    let Begin::Read(flight) = engine.begin(use_case, None, "a:b/ü", "?x=1", 0).unwrap() else {
        panic!("does not read");
    };
    assert_eq!(
        engine.value_key(flight).unwrap(),
        "urn:id:a%3Ab%2F%C3%BC?x=1#Get:dialcache-frame-v1"
    );
}

#[test]
fn a_flight_has_a_watermark_when_it_is_tracked() {
    let mut engine = engine();
    let tracked = register(
        &mut engine,
        "A",
        &Policies {
            tracked: true,
            ..REMOTE
        },
    );
    let untracked = register(&mut engine, "B", &REMOTE);
    let flight = read(&mut engine, tracked, "a/b", 0);
    assert_eq!(
        engine.watermark_key(flight).as_deref(),
        Some("{urn:id:a%2Fb}#watermark")
    );
    let flight = read(&mut engine, untracked, "a/b", 0);
    assert_eq!(engine.watermark_key(flight), None);
    engine.end(flight);
    assert_eq!(engine.watermark_key(flight), None, "there is no such flight");
    assert_eq!(engine.value_key(flight).as_deref(), Ok(""));
}
