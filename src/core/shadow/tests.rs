mod model;

use super::*;

pub(super) const MS: Nanos = 1_000_000;
pub(super) const READ_TIMEOUT: Nanos = 50 * MS;
pub(super) const TIMEOUT: Nanos = 1_000 * MS;

pub(super) fn facts(origin: Origin, key: &[u8], group: u64) -> NewJob {
    NewJob {
        origin,
        use_case: UseCaseId(0),
        key: key.into(),
        group,
        ttl_ms: 60_000,
        log_mismatches: false,
        read_timeout: READ_TIMEOUT,
        timeout: TIMEOUT,
    }
}

pub(super) fn shadows(max_in_flight: usize) -> Shadows {
    Shadows::new(ShadowOptions {
        max_in_flight,
        times_reads: true,
    })
}

/// A job alone, at time 0.
fn job(origin: Origin) -> (Shadows, ShadowId) {
    let mut shadows = shadows(1);
    let id = shadows.admit(facts(origin, b"key", 1), 0).expect("there is room");
    (shadows, id)
}

/// Tells the job all of these, one a millisecond, and answers what it answered.
fn history(origin: Origin, told: &[Told]) -> Vec<Next> {
    let (mut shadows, id) = job(origin);
    (1..)
        .zip(told)
        .map(|(at, told)| shadows.tell(id, *told, at * MS))
        .collect()
}

#[test]
fn a_served_hit_is_compared_with_a_run_of_the_source() {
    use Next::{Compare, Confirm, Done, Load, Source};
    let compared = [Told::Started, Told::SourceOk, Told::Loaded];
    let begun = [Source, Load, Compare];
    for (ends, answers) in [
        (&[Told::Equal][..], &[Done(Outcome::Match)][..]),
        (&[Told::CompareFailed], &[Done(Outcome::ComparisonError)]),
        (&[Told::Different, Told::Same], &[Confirm, Done(Outcome::Mismatch)]),
        (&[Told::Different, Told::Changed], &[Confirm, Done(Outcome::Superseded)]),
        (
            &[Told::Different, Told::ReadFailed],
            &[Confirm, Done(Outcome::ConfirmationError)],
        ),
    ] {
        let told = [&compared, ends].concat();
        assert_eq!(history(Origin::Served, &told), [&begun, answers].concat(), "{ends:?}");
    }
}

#[test]
fn a_served_hit_may_have_nothing_to_be_compared_with() {
    assert_eq!(
        history(Origin::Served, &[Told::Started, Told::SourceFailed]),
        [Next::Source, Next::Done(Outcome::SourceError)]
    );
    assert_eq!(
        history(Origin::Served, &[Told::Started, Told::SourceOk, Told::LoadFailed]),
        [Next::Source, Next::Load, Next::Done(Outcome::DeserializationError)]
    );
}

#[test]
fn outside_the_ramp_a_hit_is_compared_with_what_the_caller_got() {
    use Next::{Compare, Done, Dump, Load, Read, Wait};
    let matched = [Compare, Done(Outcome::Match)];
    let (loaded, equal) = (Told::Loaded, Told::Equal);
    assert_eq!(
        history(
            Origin::RampedDown,
            &[Told::Started, Told::Hit, Told::SourceOk, Told::Answered, loaded, equal]
        ),
        [&[Read, Wait, Wait, Load], &matched[..]].concat(),
        "Redis first: there is nothing to write"
    );
    assert_eq!(
        history(
            Origin::RampedDown,
            &[
                Told::Started,
                Told::SourceOk,
                Told::Answered,
                Told::Dumped,
                Told::Hit,
                loaded,
                equal
            ]
        ),
        [&[Read, Dump, Wait, Wait, Load], &matched[..]].concat(),
        "the source first: nobody knows yet whether to write"
    );
}

#[test]
fn outside_the_ramp_a_clean_miss_is_filled() {
    use Next::{Done, Dump, Fill, Read, Wait};
    for (told, outcome) in [
        (Told::Stored, Outcome::Filled),
        (Told::Fenced, Outcome::FillBlocked),
        (Told::FillFailed, Outcome::FillError),
    ] {
        let start = [Told::Started, Told::Miss, Told::SourceOk];
        let late_dump = [&start[..], &[Told::Answered, Told::Dumped, told]].concat();
        let answers = [Read, Wait, Dump, Wait, Fill, Done(outcome)];
        assert_eq!(history(Origin::RampedDown, &late_dump), answers);
        let early_dump = [&start[..], &[Told::Dumped, Told::Answered, told]].concat();
        assert_eq!(history(Origin::RampedDown, &early_dump), answers);
    }
    assert_eq!(
        history(
            Origin::RampedDown,
            &[
                Told::Started,
                Told::Miss,
                Told::SourceOk,
                Told::DumpFailed,
                Told::Answered
            ]
        ),
        [Read, Wait, Dump, Wait, Done(Outcome::FillError)]
    );
}

#[test]
fn nothing_is_written_before_the_caller_is_answered() {
    let (mut shadows, id) = job(Origin::RampedDown);
    for told in [Told::Started, Told::SourceOk, Told::Miss] {
        shadows.tell(id, told, MS);
    }
    assert_eq!(shadows.tell(id, Told::Dumped, MS), Next::Wait);
    assert_eq!(shadows.tell(id, Told::Answered, MS), Next::Fill);
}

#[test]
fn a_failed_source_fills_nothing() {
    use Next::{Done, Read, Wait};
    let failed = Done(Outcome::SourceError);
    assert_eq!(
        history(Origin::RampedDown, &[Told::Started, Told::Miss, Told::SourceFailed]),
        [Read, Wait, failed]
    );
    assert_eq!(
        history(Origin::RampedDown, &[Told::SourceFailed, Told::Started]),
        [failed, Next::Stale]
    );
}

#[test]
fn a_source_that_times_out_with_the_job_is_an_error_of_the_source() {
    let (mut shadows, id) = job(Origin::RampedDown);
    shadows.tell(id, Told::Started, MS);
    shadows.tell(id, Told::Miss, 2 * MS);
    assert_eq!(shadows.pop_due(TIMEOUT), Some(id));
    assert_eq!(
        shadows.tell(id, Told::SourceFailed, TIMEOUT),
        Next::Done(Outcome::SourceError)
    );
    assert_eq!(shadows.tell(id, Told::Due, TIMEOUT), Next::Stale);
}

#[test]
fn an_id_that_was_invalidated_meanwhile_is_not_filled() {
    let (mut shadows, id) = job(Origin::RampedDown);
    shadows.tell(id, Told::Started, MS);
    shadows.tell(id, Told::Miss, MS);
    shadows.tell(id, Told::SourceOk, MS);
    shadows.bar(2);
    shadows.bar(1);
    assert_eq!(
        shadows.tell(id, Told::Answered, MS),
        Next::Done(Outcome::FillBlocked),
        "whatever becomes of the dump"
    );
    assert_eq!(shadows.len(), 1, "the dump goes on");
    assert_eq!(shadows.tell(id, Told::Dumped, MS), Next::Stale);
    assert!(shadows.is_empty());

    let (mut shadows, id) = job(Origin::RampedDown);
    shadows.bar(2);
    for told in [Told::Started, Told::Miss, Told::SourceOk, Told::Dumped] {
        shadows.tell(id, told, MS);
    }
    assert_eq!(shadows.tell(id, Told::Answered, MS), Next::Fill, "another id's");
}

#[test]
fn a_reply_at_the_read_deadline_is_too_late_though_no_timer_fired() {
    let (mut shadows, id) = job(Origin::RampedDown);
    shadows.tell(id, Told::Started, MS);
    assert_eq!(shadows.next_due(), Some(MS + READ_TIMEOUT));
    assert_eq!(shadows.pop_due(READ_TIMEOUT), None);
    assert_eq!(
        shadows.tell(id, Told::Hit, MS + READ_TIMEOUT),
        Next::Done(Outcome::RedisError)
    );

    let (mut shadows, id) = job(Origin::Served);
    for told in [Told::Started, Told::SourceOk, Told::Loaded, Told::Different] {
        shadows.tell(id, told, MS);
    }
    assert_eq!(shadows.pop_due(MS + READ_TIMEOUT), Some(id));
    assert_eq!(
        shadows.tell(id, Told::Due, MS + READ_TIMEOUT),
        Next::Done(Outcome::ConfirmationError)
    );
    assert_eq!(shadows.len(), 1, "the read goes on");
    assert_eq!(shadows.tell(id, Told::Same, 2 * READ_TIMEOUT), Next::Stale);
    assert!(shadows.is_empty());
}

#[test]
fn reads_that_others_time_have_no_deadline_here() {
    let mut shadows = Shadows::new(ShadowOptions {
        max_in_flight: 1,
        times_reads: false,
    });
    let id = shadows
        .admit(facts(Origin::RampedDown, b"key", 1), 0)
        .expect("there is room");
    shadows.tell(id, Told::Started, MS);
    assert_eq!(shadows.next_due(), Some(TIMEOUT));
    let read_until = |now| shadows.get(id).map(|job| job.read_until(now));
    assert_eq!(read_until(MS), Some(MS + READ_TIMEOUT));
    assert_eq!(read_until(TIMEOUT - MS), Some(TIMEOUT), "never longer than the job");
}

#[test]
fn at_its_deadline_a_job_is_over_and_begins_nothing_more() {
    let (mut shadows, id) = job(Origin::Served);
    shadows.tell(id, Told::Started, MS);
    assert_eq!(
        shadows.tell(id, Told::SourceOk, TIMEOUT),
        Next::Done(Outcome::Timeout),
        "though no timer fired"
    );
    assert!(shadows.is_empty());

    let (mut shadows, id) = job(Origin::Served);
    shadows.tell(id, Told::Started, MS);
    assert_eq!(shadows.pop_due(TIMEOUT - 1), None);
    assert_eq!(shadows.pop_due(TIMEOUT), Some(id));
    assert_eq!(shadows.pop_due(TIMEOUT), None, "once");
    assert_eq!(shadows.tell(id, Told::Due, TIMEOUT), Next::Done(Outcome::Timeout));
    assert_eq!(shadows.len(), 1, "the source runs on");
    assert_eq!(shadows.admit(facts(Origin::Served, b"other", 1), TIMEOUT), None);
    assert_eq!(shadows.tell(id, Told::SourceOk, 2 * TIMEOUT), Next::Stale);
    assert!(shadows.admit(facts(Origin::Served, b"other", 1), TIMEOUT).is_some());
}

#[test]
fn the_callers_source_holds_no_place() {
    let (mut shadows, id) = job(Origin::RampedDown);
    shadows.tell(id, Told::Started, MS);
    assert_eq!(
        shadows.tell(id, Told::ReadFailed, MS),
        Next::Done(Outcome::RedisError),
        "without waiting for the source"
    );
    assert!(shadows.is_empty());
    assert_eq!(shadows.tell(id, Told::SourceOk, MS), Next::Stale);
}

#[test]
fn one_job_a_key_and_as_many_as_there_is_room_for() {
    let mut shadows = shadows(2);
    let mut admit = |key: &[u8]| shadows.admit(facts(Origin::Served, key, 1), 0);
    assert!(admit(b"a").is_some());
    assert_eq!(admit(b"a"), None, "one of this key is under way");
    assert!(admit(b"b").is_some());
    assert_eq!(admit(b"c"), None, "no room");
}

#[test]
fn without_redis_nothing_more_is_asked_of_it() {
    use Next::{Done, Wait};
    let closed = |origin, told: &[Told], then: Told| {
        let (mut shadows, id) = job(origin);
        for told in told {
            shadows.tell(id, *told, MS);
        }
        shadows.close();
        [shadows.tell(id, Told::Closed, MS), shadows.tell(id, then, MS)]
    };
    let ramped = Origin::RampedDown;
    assert_eq!(
        closed(ramped, &[], Told::Started),
        [Wait, Done(Outcome::RedisError)],
        "before its read"
    );
    assert_eq!(
        closed(ramped, &[Told::Started], Told::Hit),
        [Done(Outcome::RedisError), Next::Stale],
        "while it reads"
    );
    assert_eq!(
        closed(
            ramped,
            &[Told::Started, Told::Miss, Told::SourceOk, Told::Dumped],
            Told::Answered
        ),
        [Wait, Done(Outcome::FillError)],
        "before it writes"
    );
    let filling = [Told::Started, Told::Miss, Told::SourceOk, Told::Dumped, Told::Answered];
    assert_eq!(
        closed(ramped, &filling, Told::Stored),
        [Wait, Done(Outcome::Filled)],
        "a write goes on"
    );
    let compared = [Told::Started, Told::SourceOk, Told::Loaded];
    assert_eq!(
        closed(Origin::Served, &compared, Told::Different),
        [Wait, Done(Outcome::ConfirmationError)]
    );
    assert_eq!(
        closed(Origin::Served, &compared, Told::Equal),
        [Wait, Done(Outcome::Match)]
    );
    let confirming = [&compared[..], &[Told::Different]].concat();
    assert_eq!(
        closed(Origin::Served, &confirming, Told::Same),
        [Done(Outcome::ConfirmationError), Next::Stale]
    );
}
