//! A read that is hedged: the source runs beside it.

use proptest::prelude::*;

use super::*;

const DEADLINE: Nanos = 50;
const HEDGE_AT: Nanos = 20;
const SOURCE_DEADLINE: Nanos = 200;

fn hedged(tracked: bool) -> Chain {
    let mut chain = Chain::new(true, tracked);
    chain.read_started(DEADLINE, Some(HEDGE_AT));
    assert!(chain.hedge_due(HEDGE_AT));
    chain.source_started(Some(SOURCE_DEADLINE));
    chain
}

const LOCAL: Publication = Publication {
    local: true,
    remote: false,
};

#[test]
fn it_is_hedged_once_at_its_delay_and_not_once_it_is_over() {
    let mut chain = Chain::new(true, false);
    chain.read_started(DEADLINE, Some(HEDGE_AT));
    assert!(!chain.hedge_due(HEDGE_AT - 1));
    assert!(chain.hedge_due(HEDGE_AT));
    assert!(!chain.hedge_due(HEDGE_AT + 1), "only once");

    let mut settled = Chain::new(true, false);
    settled.read_started(DEADLINE, Some(HEDGE_AT));
    settled.read_settled(ReadResult::Hit, HEDGE_AT - 1);
    assert!(!settled.hedge_due(HEDGE_AT));

    let mut late = Chain::new(true, false);
    late.read_started(DEADLINE, Some(HEDGE_AT));
    assert!(!late.hedge_due(DEADLINE), "the deadline has its own answer");
}

#[test]
fn a_source_that_lost_has_no_deadline_any_more() {
    let mut chain = hedged(false);
    chain.read_settled(ReadResult::Hit, 30);
    assert_eq!(chain.source_deadline(), Some(SOURCE_DEADLINE));
    chain.loaded();
    assert_eq!(chain.source_deadline(), None);
}

#[test]
fn a_denied_hedge_leaves_the_read_as_it_was() {
    let mut chain = Chain::new(true, false);
    chain.read_started(DEADLINE, Some(HEDGE_AT));
    assert!(chain.hedge_due(HEDGE_AT));
    assert_eq!(chain.read_settled(ReadResult::Miss, 30), AfterRead::Miss);
    assert_eq!(chain.next(), Next::RunSource);
}

#[test]
fn a_hit_wins_over_a_running_source_whose_value_is_never_published() {
    for tracked in [false, true] {
        let mut chain = hedged(tracked);
        assert_eq!(chain.read_settled(ReadResult::Hit, 30), AfterRead::Load);
        assert_eq!(chain.loaded(), Some(LOCAL));
        assert_eq!(chain.source_settled(true, 40), AfterSource::Stale);
        assert_eq!(chain.source_due(SOURCE_DEADLINE), AfterSource::Stale);
        assert!(!chain.publishes_when_stamped());
    }
}

#[test]
fn a_source_that_outruns_the_read_answers_and_keeps_tracked_values_out_of_the_local_layer() {
    assert_eq!(hedged(false).source_settled(true, 30), AfterSource::Outrun(LOCAL));
    assert_eq!(
        hedged(true).source_settled(true, 30),
        AfterSource::Outrun(Publication::default())
    );
}

#[test]
fn after_an_outrun_a_hit_is_ignored_a_clean_miss_writes_and_a_failure_is_not_told() {
    for (result, verdict) in [
        (ReadResult::Hit, AfterRead::Over),
        (ReadResult::Miss, AfterRead::Write),
        (ReadResult::Failed, AfterRead::Over),
    ] {
        let mut chain = hedged(true);
        chain.source_settled(true, 30);
        assert_eq!(chain.read_settled(result, 40), verdict);
        assert!(
            !chain.publishes_when_stamped(),
            "the source began before the watermark was read"
        );
    }
    let mut due = hedged(false);
    due.source_settled(true, 30);
    assert_eq!(due.read_due(DEADLINE), AfterRead::Over, "no timeout is told");
    let mut late = hedged(false);
    late.source_settled(true, 30);
    assert_eq!(
        late.read_settled(ReadResult::Miss, DEADLINE),
        AfterRead::Over,
        "no write"
    );
}

#[test]
fn a_clean_miss_before_the_source_is_done_is_written_and_tracked_values_stay_out_of_the_local_layer() {
    for tracked in [false, true] {
        let mut chain = hedged(tracked);
        assert_eq!(chain.read_settled(ReadResult::Miss, 30), AfterRead::Miss);
        assert_eq!(chain.next(), Next::AwaitSource);
        let publication = Publication {
            local: !tracked,
            remote: true,
        };
        assert_eq!(chain.source_settled(true, 60), AfterSource::Accept(publication));
        assert!(!chain.publishes_when_stamped());
    }
}

#[test]
fn a_payload_that_does_not_load_is_a_miss_also_beside_a_running_source() {
    let mut chain = hedged(false);
    chain.read_settled(ReadResult::Hit, 30);
    assert!(chain.load_failed());
    assert_eq!(chain.next(), Next::AwaitSource);
    let publication = Publication {
        local: true,
        remote: true,
    };
    assert_eq!(chain.source_settled(true, 60), AfterSource::Accept(publication));
}

#[test]
fn a_source_that_answers_while_a_payload_is_loaded_wins_and_writes_nothing() {
    let mut chain = hedged(false);
    chain.read_settled(ReadResult::Hit, 30);
    assert_eq!(chain.source_settled(true, 35), AfterSource::Accept(LOCAL));
    assert_eq!(chain.loaded(), None);

    let mut rejected = hedged(false);
    rejected.read_settled(ReadResult::Hit, 30);
    rejected.source_settled(true, 35);
    assert!(!rejected.load_failed());
}

#[test]
fn a_failed_source_waits_for_the_read_and_its_error_is_passed_when_the_read_brings_nothing() {
    for due in [false, true] {
        let failed = || {
            let mut chain = hedged(false);
            if due {
                // Its deadline, by whoever notices first.
                chain = Chain::new(true, false);
                chain.read_started(DEADLINE, Some(HEDGE_AT));
                chain.hedge_due(HEDGE_AT);
                chain.source_started(Some(30));
                assert_eq!(chain.source_due(30), AfterSource::TimedOutAwaitRead);
            } else {
                assert_eq!(chain.source_settled(false, 30), AfterSource::AwaitRead);
            }
            chain
        };
        let mut hit = failed();
        assert_eq!(hit.read_settled(ReadResult::Hit, 40), AfterRead::Load);
        assert_eq!(hit.loaded(), Some(LOCAL));
        for (result, verdict) in [
            (ReadResult::Miss, AfterRead::Miss),
            (ReadResult::Failed, AfterRead::Failed),
        ] {
            let mut chain = failed();
            assert_eq!(chain.read_settled(result, 40), verdict);
            assert_eq!(chain.next(), Next::PassError, "the source is not run twice");
        }
        let mut unloadable = failed();
        unloadable.read_settled(ReadResult::Hit, 40);
        assert!(unloadable.load_failed());
        assert_eq!(unloadable.next(), Next::PassError);
        let mut late = failed();
        assert_eq!(late.read_due(DEADLINE), AfterRead::TimedOut);
        assert_eq!(late.next(), Next::PassError);
    }
}

#[test]
fn a_failed_read_waits_for_a_running_source_and_writes_nothing() {
    for tracked in [false, true] {
        let mut chain = hedged(tracked);
        assert_eq!(chain.read_due(DEADLINE), AfterRead::TimedOut);
        assert_eq!(chain.next(), Next::AwaitSource);
        let publication = Publication {
            local: !tracked,
            remote: false,
        };
        assert_eq!(chain.source_settled(true, 60), AfterSource::Accept(publication));
    }
}

#[test]
fn a_failed_source_after_a_failed_read_passes_its_error() {
    let mut chain = hedged(false);
    chain.read_settled(ReadResult::Failed, 30);
    assert_eq!(chain.source_settled(false, 40), AfterSource::Failed);
    assert_eq!(chain.source_settled(true, 41), AfterSource::Stale);
}

/// What may happen to a call whose read is hedged, at which time.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Read(ReadResult),
    ReadDue,
    Loaded(bool),
    Source(bool),
    SourceDue,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        prop_oneof![Just(ReadResult::Hit), Just(ReadResult::Miss), Just(ReadResult::Failed)].prop_map(Happening::Read),
        Just(Happening::ReadDue),
        any::<bool>().prop_map(Happening::Loaded),
        any::<bool>().prop_map(Happening::Source),
        Just(Happening::SourceDue),
    ]
}

/// The call's story in the words of the rules.
#[derive(Debug, Default)]
struct Story {
    answers: u32,
    events: u32,
    writes: u32,
    published: u32,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn whatever_the_order_one_answer_one_event_at_most_one_write(
        tracked: bool,
        steps in prop::collection::vec((happening(), 1_u64..30), 1..12),
    ) {
        let mut chain = hedged(tracked);
        let mut story = Story::default();
        let mut now = HEDGE_AT;
        let (mut read_open, mut loading, mut source_open, mut source_failed) = (true, false, true, false);
        let mut clean_miss = false;
        for (happening, later) in steps {
            now += later;
            match happening {
                Happening::Read(result) => {
                    let verdict = chain.read_settled(result, now);
                    if !read_open {
                        prop_assert_eq!(verdict, AfterRead::Stale);
                        continue;
                    }
                    read_open = false;
                    let late = now >= DEADLINE;
                    clean_miss = !late && result == ReadResult::Miss;
                    let expected = match (story.answers > 0, late, result) {
                        (true, false, ReadResult::Miss) => AfterRead::Write,
                        (true, ..) => AfterRead::Over,
                        (false, true, _) => AfterRead::TimedOut,
                        (false, false, ReadResult::Hit) => AfterRead::Load,
                        (false, false, ReadResult::Miss) => AfterRead::Miss,
                        (false, false, ReadResult::Failed) => AfterRead::Failed,
                    };
                    prop_assert_eq!(verdict, expected);
                    story.writes += u32::from(verdict == AfterRead::Write);
                    story.events += u32::from(matches!(verdict, AfterRead::Failed | AfterRead::TimedOut));
                    loading = verdict == AfterRead::Load;
                    if !loading && story.answers == 0 && source_failed {
                        prop_assert_eq!(chain.next(), Next::PassError);
                        chain.error_passed();
                        story.answers += 1;
                    }
                }
                Happening::ReadDue => {
                    let verdict = chain.read_due(now);
                    if !read_open || now < DEADLINE {
                        prop_assert_eq!(verdict, AfterRead::Stale);
                        continue;
                    }
                    read_open = false;
                    let told = story.answers == 0;
                    prop_assert_eq!(verdict, if told { AfterRead::TimedOut } else { AfterRead::Over });
                    story.events += u32::from(told);
                    if told && source_failed {
                        chain.error_passed();
                        story.answers += 1;
                    }
                }
                Happening::Loaded(ok) if loading => {
                    loading = false;
                    if ok {
                        let publication = chain.loaded();
                        prop_assert_eq!(publication.is_some(), story.answers == 0);
                        story.answers += u32::from(publication.is_some());
                        story.published += u32::from(publication.is_some_and(|to| to.local));
                    } else if chain.load_failed() {
                        clean_miss = true;
                        if source_failed {
                            prop_assert_eq!(chain.next(), Next::PassError);
                            chain.error_passed();
                            story.answers += 1;
                        }
                    }
                }
                Happening::Loaded(_) => {}
                Happening::Source(ok) => {
                    let verdict = chain.source_settled(ok, now);
                    if !source_open || story.answers > 0 {
                        prop_assert_eq!(verdict, AfterSource::Stale);
                        source_open = false;
                        continue;
                    }
                    source_open = false;
                    match verdict {
                        AfterSource::Accept(to) | AfterSource::Outrun(to) => {
                            prop_assert!(ok && now < SOURCE_DEADLINE);
                            prop_assert_eq!(matches!(verdict, AfterSource::Outrun(_)), read_open);
                            prop_assert_eq!(to.remote, clean_miss);
                            prop_assert_eq!(to.local, !tracked);
                            story.answers += 1;
                            story.writes += u32::from(to.remote);
                            story.published += u32::from(to.local);
                        }
                        AfterSource::Failed | AfterSource::TimedOut => {
                            prop_assert!(!read_open && !loading, "an error never wins over a pending read");
                            story.answers += 1;
                        }
                        AfterSource::AwaitRead | AfterSource::TimedOutAwaitRead => {
                            prop_assert!(read_open || loading);
                            source_failed = true;
                        }
                        AfterSource::Stale => prop_assert!(false, "it was waited for"),
                    }
                }
                Happening::SourceDue => {
                    let verdict = chain.source_due(now);
                    if !source_open || story.answers > 0 || now < SOURCE_DEADLINE {
                        prop_assert_eq!(verdict, AfterSource::Stale);
                        continue;
                    }
                    source_open = false;
                    if read_open || loading {
                        prop_assert_eq!(verdict, AfterSource::TimedOutAwaitRead);
                        source_failed = true;
                    } else {
                        prop_assert_eq!(verdict, AfterSource::TimedOut);
                        story.answers += 1;
                    }
                }
            }
            prop_assert_eq!(chain.is_answered(), story.answers > 0);
        }
        prop_assert!(story.answers <= 1, "{:?}", story);
        prop_assert!(story.events <= 1, "{:?}", story);
        prop_assert!(story.writes <= 1, "{:?}", story);
        prop_assert!(!tracked || !chain.publishes_when_stamped());
    }
}
