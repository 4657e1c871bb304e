use super::super::engine::ShadowPlan;
use super::*;

fn new(started_at: Nanos) -> NewFlight {
    NewFlight {
        use_case: UseCaseId(0),
        chain: Chain::new(false, false),
        local_ttl: 0,
        remote_ttl_ms: 0,
        group: 0,
        started_at,
        read_timeout: 0,
        source_timeout: None,
        shadow: ShadowPlan::default(),
    }
}

fn generation(flights: &Flights, id: FlightId) -> u32 {
    flights.get(id).expect("a flight").generation
}

#[test]
fn a_number_that_is_used_again_has_another_generation() {
    let mut flights = Flights::default();
    let mut last = None;
    for _ in 0..1_000 {
        let id = flights.lead(b"key", true, new(0));
        assert_eq!(id, FlightId(0), "the number is free");
        let generation = generation(&flights, id);
        assert!(generation < GENERATIONS);
        assert_ne!(last.replace(generation), Some(generation));
        flights.land(id);
    }
}

/// A ticket has room for so many and no more.
#[test]
fn generations_start_again_where_tickets_end() {
    let mut flights = Flights {
        next_generation: GENERATIONS - 2,
        ..Flights::default()
    };
    let generations = [(); 3].map(|()| {
        let id = flights.lead(b"key", false, new(0));
        generation(&flights, id)
    });
    assert_eq!(generations, [GENERATIONS - 1, 0, 1]);
}

#[test]
fn there_is_something_to_join_while_a_shared_flight_is_listed() {
    let mut flights = Flights::default();
    assert!(flights.nothing_to_join());
    let alone = flights.lead(b"key", false, new(0));
    assert!(flights.nothing_to_join());
    let shared = flights.lead(b"key", true, new(0));
    assert!(!flights.nothing_to_join());
    assert_eq!(flights.join(b"key", 0), Some(shared));
    flights.land(shared);
    assert!(flights.nothing_to_join());
    flights.land(alone);
    assert_eq!(flights.iter().count(), 0);
}

#[test]
fn an_answered_flight_lingers_until_nobody_can_join_it() {
    let mut flights = Flights::default();
    let id = flights.lead(b"key", true, new(7));
    assert_eq!((flights.lingering(), flights.unanswered().leaders), (0, 1));
    assert_eq!(flights.unanswered().oldest, Some(7));
    let flight = flights.get_mut(id).expect("a flight");
    flight.chain.source_started(None);
    flight.chain.source_settled(true, 0);
    flights.answered(id);
    flights.joinable_until(id, 10);
    assert_eq!((flights.lingering(), flights.unanswered()), (1, Unanswered::default()));
    assert_eq!(flights.joinable_till(id), Some(10));
    assert_eq!(flights.join(b"key", 9), Some(id));
    assert_eq!(flights.join(b"key", 10), None);
    assert_eq!((flights.lingering(), flights.joinable_till(id)), (0, None));
}
