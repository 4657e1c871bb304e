//! Hedged reads: one timer, one budget a use case, and flights that end.

use proptest::prelude::*;

use super::super::super::hedge::read::ReadDelay;
use super::*;

const DELAY: u64 = 20 * MS;
const DEADLINE: u64 = 50 * MS;

fn hedging(engine: &mut Engine, policies: &Policies, delay: ReadDelay) -> UseCaseId {
    let plain = register(engine, "A", policies);
    let mut call = engine.registry.use_case(plain).call;
    call.read_hedge = Some(delay);
    engine
        .register(&UseCaseOptions {
            key_type: "id",
            use_case: "A",
            tracked: policies.tracked,
            call,
        })
        .unwrap()
}

fn fixed(policies: &Policies) -> (Engine, UseCaseId) {
    let mut engine = engine();
    let use_case = hedging(&mut engine, policies, ReadDelay::Fixed(20.0));
    (engine, use_case)
}

fn racing(engine: &mut Engine, use_case: UseCaseId) -> FlightId {
    let flight = read(engine, use_case, "1", 0);
    assert_eq!(engine.timer().at, Some(DELAY));
    assert_eq!(engine.pop_due(DELAY), Some(Due::Hedge(flight)));
    engine.source_started(flight, DELAY);
    flight
}

fn is_empty(engine: &Engine) -> bool {
    let gauges = engine.gauges();
    gauges.timers == 0 && gauges.lingering == 0 && gauges.unanswered.leaders == 0
}

#[test]
fn one_timer_is_armed_for_the_delay_and_again_for_the_deadline() {
    let (mut engine, use_case) = fixed(&BOTH);
    let flight = racing(&mut engine, use_case);
    assert_eq!(engine.gauges().timers, 1);
    assert_eq!(engine.timer().at, Some(DEADLINE));
    assert_eq!(begin(&mut engine, use_case, "1", 21 * MS), Begin::Join(flight));
    assert_eq!(engine.gauges().timers, 1, "followers arm none");
    assert_eq!(engine.pop_due(DEADLINE), Some(Due::Read(flight)));
    assert_eq!(engine.timer().at, Some(DELAY + SEC), "the source's deadline is left");
}

#[test]
fn a_call_whose_deadline_is_the_delay_is_not_hedged() {
    let (mut engine, use_case) = fixed(&REMOTE);
    read(&mut engine, use_case, "1", 0);
    let mut call = engine.registry.use_case(use_case).call;
    for (read_timeout, hedge_at) in [(20, None), (21, Some(DELAY))] {
        call.read_timeout = Duration::from_millis(read_timeout);
        let id = read_timeout.to_string();
        let Begin::Read(flight) = engine.begin(use_case, Some(&call), &id, "", 0).unwrap() else {
            panic!("does not read");
        };
        assert_eq!(engine.read_hedge_at(flight), hedge_at);
    }
}

#[test]
fn a_denied_hedge_goes_on_waiting_with_the_deadline_armed() {
    let (mut engine, use_case) = fixed(&REMOTE);
    for id in 0..30 {
        let flight = read(&mut engine, use_case, &id.to_string(), 0);
        let due = engine.pop_due(DELAY);
        // A full budget of 10, and a tenth of a token for each of 30 reads.
        let denied = due == Some(Due::HedgeDenied(flight));
        assert!(denied || due == Some(Due::Hedge(flight)));
        assert_eq!(engine.timer().at, Some(DEADLINE));
        engine.read_settled(flight, ReadResult::Failed, DELAY);
        if !denied {
            engine.source_started(flight, DELAY);
        }
        engine.source_settled(flight, true, DELAY);
        engine.end(flight);
    }
    let granted = 30 - counted(&engine, Counter::ReadHedgeDenied);
    assert_eq!(granted, 12, "10 saved up, and a tenth of the reads after the first");
}

#[test]
fn a_source_that_is_done_before_the_serializer_has_outrun_the_read() {
    let (mut engine, use_case) = fixed(&REMOTE);
    let flight = racing(&mut engine, use_case);
    assert_eq!(engine.read_settled(flight, ReadResult::Hit, 30 * MS), AfterRead::Load);
    let settled = engine.source_settled(flight, true, 31 * MS);
    assert!(matches!(settled, Settled::Accepted { write: false, .. }));
    assert_eq!(counted(&engine, Counter::ReadHedgeOutrun), 1);
    assert_eq!(
        counted(&engine, Counter::WriteSkipped),
        0,
        "there was a hit: nothing to write"
    );
    assert!(is_empty(&engine));
}

#[test]
fn auto_hedges_at_the_95th_percentile_of_this_use_cases_reads_and_not_before_100_of_them() {
    let mut engine = engine();
    let use_case = hedging(&mut engine, &REMOTE, ReadDelay::Auto);
    for n in 1..=100_u64 {
        let now = n * 100 * MS;
        let flight = read(&mut engine, use_case, "1", now);
        assert_eq!(engine.read_hedge_at(flight), None);
        engine.read_settled(flight, ReadResult::Miss, now + n * MS / 10);
        run_source(&mut engine, flight, now + 20 * MS);
        engine.write_settled(flight, WriteResult::Stored, now + 20 * MS);
    }
    let flight = read(&mut engine, use_case, "1", 11 * SEC);
    let delay = engine.read_hedge_at(flight).expect("100 reads are known") - 11 * SEC;
    assert!(delay.abs_diff(9_500_000) < 200_000, "{delay}");
}

#[test]
fn an_outrun_flight_ends_with_its_read_and_is_joined_until_then() {
    for (result, verdict) in [
        (ReadResult::Hit, AfterRead::Over),
        (ReadResult::Failed, AfterRead::Over),
        (ReadResult::Miss, AfterRead::Write),
    ] {
        let (mut engine, use_case) = fixed(&REMOTE);
        let flight = racing(&mut engine, use_case);
        let settled = engine.source_settled(flight, true, 30 * MS);
        let outrun = Settled::Accepted {
            slot: None,
            write: true,
            joinable: true,
        };
        assert_eq!(settled, outrun);
        assert!(engine.is_reading(flight));
        assert_eq!(engine.gauges().unanswered.leaders, 0);
        assert_eq!(begin(&mut engine, use_case, "1", 31 * MS), Begin::Join(flight));
        assert_eq!(engine.read_settled(flight, result, 40 * MS), verdict);
        if verdict == AfterRead::Write {
            assert_eq!(begin(&mut engine, use_case, "1", 41 * MS), Begin::Join(flight));
            engine.write_settled(flight, WriteResult::Stored, 42 * MS);
        }
        assert!(is_empty(&engine), "{result:?}");
        assert!(matches!(begin(&mut engine, use_case, "1", 43 * MS), Begin::Read(_)));
        assert_eq!(counted(&engine, Counter::ReadHedgeOutrun), 1);
        let told = [
            Counter::RemoteMiss,
            Counter::ReadTimeout,
            Counter::ReadFailed,
            Counter::WriteSkipped,
        ];
        assert!(told.iter().all(|counter| counted(&engine, *counter) == 0), "{result:?}");
    }
}

#[test]
fn an_outrun_read_that_never_settles_is_over_at_its_deadline_without_a_word() {
    let (mut engine, use_case) = fixed(&BOTH);
    let flight = racing(&mut engine, use_case);
    let Settled::Accepted { slot: Some(slot), .. } = engine.source_settled(flight, true, 30 * MS) else {
        panic!("an untracked value is kept");
    };
    assert_eq!(begin(&mut engine, use_case, "1", 31 * MS), Begin::Hit(slot));
    assert!(engine.timer().referenced);
    assert_eq!(engine.pop_due(DEADLINE), Some(Due::ReadOver(flight)));
    assert!(is_empty(&engine));
    assert_eq!(counted(&engine, Counter::ReadTimeout), 0);
}

#[test]
fn a_write_after_an_outrun_that_never_settles_keeps_no_flight_joinable() {
    let (mut engine, use_case) = fixed(&REMOTE);
    let flight = racing(&mut engine, use_case);
    engine.source_settled(flight, true, 30 * MS);
    engine.read_settled(flight, ReadResult::Miss, 40 * MS);
    assert_eq!(engine.timer().at, Some(80 * MS), "one read budget after acceptance");
    assert_eq!(engine.pop_due(80 * MS), Some(Due::Linger(flight)));
    assert!(matches!(begin(&mut engine, use_case, "1", 81 * MS), Begin::Read(_)));
}

#[test]
fn the_sources_deadline_is_no_error_while_the_read_may_win() {
    let (mut engine, use_case) = {
        let mut engine = engine();
        let use_case = hedging(&mut engine, &REMOTE, ReadDelay::Fixed(20.0));
        (engine, use_case)
    };
    let flight = read(&mut engine, use_case, "1", 0);
    assert_eq!(engine.pop_due(DELAY), Some(Due::Hedge(flight)));
    engine.flights.get_mut(flight).unwrap().source_timeout = Some(10 * MS);
    engine.source_started(flight, DELAY);
    assert_eq!(engine.timer().at, Some(30 * MS));
    assert_eq!(engine.pop_due(30 * MS), Some(Due::SourceAwaitRead(flight)));
    assert_eq!(engine.timer().at, Some(DEADLINE));
    assert_eq!(engine.read_settled(flight, ReadResult::Hit, 40 * MS), AfterRead::Load);
    engine.loaded(flight, 41 * MS);
    assert!(is_empty(&engine));
    assert_eq!(counted(&engine, Counter::ReadHedgeSourceError), 1);
    assert_eq!(counted(&engine, Counter::ReadHedgeHit), 1);
    assert_eq!(counted(&engine, Counter::SourceTimeout), 1);
}

#[test]
fn closing_ends_reads_whose_calls_are_answered() {
    let (mut engine, use_case) = fixed(&REMOTE);
    let flight = racing(&mut engine, use_case);
    engine.source_settled(flight, true, 30 * MS);
    assert_eq!(engine.close_remote(31 * MS), vec![flight]);
    assert!(is_empty(&engine));
}

#[test]
fn an_invalidation_leaves_the_timer_of_an_outrun_read() {
    let tracked = Policies { tracked: true, ..BOTH };
    let (mut engine, use_case) = fixed(&tracked);
    let flight = racing(&mut engine, use_case);
    engine.source_settled(flight, true, 30 * MS);
    engine.invalidate("id", "1").unwrap();
    assert!(matches!(begin(&mut engine, use_case, "1", 31 * MS), Begin::Read(_)));
    assert_eq!(engine.pop_due(DEADLINE), Some(Due::ReadOver(flight)));
}

#[test]
fn a_call_with_a_deadline_of_its_own_is_not_hedged_past_it() {
    let (mut engine, use_case) = fixed(&REMOTE);
    read(&mut engine, use_case, "1", 0);
    let mut short = engine.registry.use_case(use_case).call;
    short.read_timeout = Duration::from_millis(10);
    short.read_hedge = Some(ReadDelay::Fixed(5.0));
    let Begin::Read(flight) = engine.begin(use_case, Some(&short), "2", "", 0).unwrap() else {
        panic!("a leader reads");
    };
    assert_eq!(engine.read_hedge_at(flight), None, "the use case's delay is 20 ms");
    assert_eq!(engine.timer().at, Some(10 * MS));
    assert_eq!(engine.pop_due(10 * MS), Some(Due::Read(flight)));
}

#[test]
fn reads_that_fail_are_no_read_times() {
    let mut engine = engine();
    let use_case = hedging(&mut engine, &REMOTE, ReadDelay::Auto);
    for n in 1..=200_u64 {
        let now = n * MS;
        let flight = read(&mut engine, use_case, "1", now);
        engine.read_settled(flight, ReadResult::Failed, now);
        run_source(&mut engine, flight, now);
    }
    let flight = read(&mut engine, use_case, "1", SEC);
    assert_eq!(
        engine.read_hedge_at(flight),
        None,
        "a refused connection says nothing of replies"
    );
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Time(u64),
    Read(ReadResult),
    Load(bool),
    Source(bool),
    Write(WriteResult),
    Invalidate,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => (1_u64..40).prop_map(Happening::Time),
        2 => prop_oneof![Just(ReadResult::Hit), Just(ReadResult::Miss), Just(ReadResult::Failed)]
            .prop_map(Happening::Read),
        1 => any::<bool>().prop_map(Happening::Load),
        2 => any::<bool>().prop_map(Happening::Source),
        1 => prop_oneof![Just(WriteResult::Stored), Just(WriteResult::Fenced), Just(WriteResult::Failed)]
            .prop_map(Happening::Write),
        1 => Just(Happening::Invalidate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn in_any_order_every_flight_ends_and_no_timer_is_left(
        tracked: bool,
        local: bool,
        steps in prop::collection::vec(happening(), 1..30),
    ) {
        let policies = Policies { tracked, local: local.then_some(60.0), ..BOTH };
        let (mut engine, use_case) = fixed(&policies);
        let flight = read(&mut engine, use_case, "1", 0);
        let mut now = 0;
        let (mut loading, mut sourcing, mut writing, mut answers, mut events) = (false, false, false, 0, 0);
        // A leader as JavaScript leads it: it starts the source when a read has brought nothing.
        let over = |engine: &mut Engine, sourcing: &mut bool, now: u64| {
            let next = engine.flight(flight).map(|flight| flight.chain.next());
            match next {
                None => true,
                Some(Next::RunSource) => {
                    engine.source_started(flight, now);
                    *sourcing = true;
                    false
                }
                Some(_) => false,
            }
        };
        // What is left at the end, ends.
        let last = [Happening::Read(ReadResult::Hit), Happening::Load(false), Happening::Source(true),
            Happening::Time(2_000), Happening::Write(WriteResult::Stored), Happening::Time(100)];
        for step in steps.into_iter().chain(last) {
            let mut read_verdict = None;
            match step {
                Happening::Time(ms) => {
                    now += ms * MS;
                    while let Some(due) = engine.pop_due(now) {
                        match due {
                            Due::Hedge(_) => {
                                engine.source_started(flight, now);
                                sourcing = true;
                            }
                            Due::Read(_) => {
                                events += 1;
                                answers += u32::from(over(&mut engine, &mut sourcing, now));
                            }
                            Due::Source(_) => {
                                sourcing = false;
                                answers += 1;
                            }
                            Due::SourceAwaitRead(_) => sourcing = false,
                            Due::ReadOver(_) | Due::Linger(_) | Due::HedgeDenied(_) | Due::Shadow(_) => {}
                        }
                    }
                }
                Happening::Read(result) => read_verdict = Some(engine.read_settled(flight, result, now)),
                Happening::Load(ok) if loading => {
                    loading = false;
                    if engine.flight(flight).is_none_or(|flight| flight.chain.is_answered()) {
                        continue;
                    }
                    if ok {
                        engine.loaded(flight, now);
                        sourcing = false;
                        answers += 1;
                    } else if engine.load_failed(flight) {
                        answers += u32::from(over(&mut engine, &mut sourcing, now));
                    }
                }
                Happening::Source(ok) if sourcing => match engine.source_settled(flight, ok, now) {
                    Settled::Accepted { write, .. } => {
                        sourcing = false;
                        answers += 1;
                        writing = write && !engine.is_reading(flight);
                    }
                    Settled::Failed | Settled::TimedOut => {
                        sourcing = false;
                        answers += 1;
                    }
                    Settled::AwaitRead | Settled::TimedOutAwaitRead => sourcing = false,
                    Settled::Stale => prop_assert!(false, "it was waited for"),
                },
                Happening::Write(outcome) if writing => {
                    writing = false;
                    engine.write_settled(flight, outcome, now);
                }
                Happening::Invalidate if tracked => {
                    engine.invalidate("id", "1").unwrap();
                }
                _ => {}
            }
            match read_verdict {
                Some(AfterRead::Load) => loading = true,
                Some(AfterRead::Miss) => answers += u32::from(over(&mut engine, &mut sourcing, now)),
                Some(AfterRead::Failed | AfterRead::TimedOut) => {
                    events += 1;
                    answers += u32::from(over(&mut engine, &mut sourcing, now));
                }
                Some(AfterRead::Write) => writing = true,
                _ => {}
            }
        }
        prop_assert_eq!(answers, 1);
        prop_assert!(events <= 1);
        prop_assert!(is_empty(&engine));
        prop_assert!(engine.flight(flight).is_none());
        let hedges = [Counter::ReadHedgeHit, Counter::ReadHedgeOutrun];
        prop_assert!(hedges.iter().map(|outcome| counted(&engine, *outcome)).sum::<u64>() <= 1);
    }
}
