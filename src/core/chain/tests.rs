use super::*;

mod hedged;

fn reading(local: bool) -> Chain {
    let mut chain = Chain::new(local, false);
    chain.read_started(50, None);
    chain
}

fn publication(chain: &mut Chain) -> Publication {
    chain.source_started(None);
    match chain.source_settled(true, 1_000) {
        AfterSource::Accept(publication) => publication,
        other => panic!("not accepted: {other:?}"),
    }
}

#[test]
fn a_hit_in_time_is_loaded_and_published_locally_only() {
    let mut chain = reading(true);
    assert_eq!(chain.read_settled(ReadResult::Hit, 49), AfterRead::Load);
    assert_eq!(
        chain.loaded(),
        Some(Publication {
            local: true,
            remote: false
        })
    );
    assert!(chain.is_answered());
}

#[test]
fn a_reply_at_the_deadline_is_a_timeout_though_no_timer_fired() {
    for result in [ReadResult::Hit, ReadResult::Miss, ReadResult::Failed] {
        let mut chain = reading(true);
        assert_eq!(chain.read_settled(result, 50), AfterRead::TimedOut);
    }
}

#[test]
fn a_timer_that_fires_early_decides_nothing() {
    let mut chain = reading(true);
    assert_eq!(chain.read_due(49), AfterRead::Stale);
    assert_eq!(chain.read_settled(ReadResult::Hit, 49), AfterRead::Load);
}

#[test]
fn a_late_settlement_after_the_timeout_is_ignored() {
    for result in [ReadResult::Hit, ReadResult::Miss, ReadResult::Failed] {
        let mut chain = reading(true);
        assert_eq!(chain.read_due(50), AfterRead::TimedOut);
        assert_eq!(chain.read_settled(result, 51), AfterRead::Stale);
        assert_eq!(chain.read_due(60), AfterRead::Stale);
    }
}

#[test]
fn a_clean_miss_writes_a_failed_or_timed_out_read_does_not() {
    let mut miss = reading(true);
    miss.read_settled(ReadResult::Miss, 1);
    assert_eq!(
        publication(&mut miss),
        Publication {
            local: true,
            remote: true
        }
    );

    let mut failed = reading(true);
    assert_eq!(failed.read_settled(ReadResult::Failed, 1), AfterRead::Failed);
    assert_eq!(
        publication(&mut failed),
        Publication {
            local: true,
            remote: false
        }
    );

    let mut late = reading(true);
    late.read_due(50);
    assert_eq!(
        publication(&mut late),
        Publication {
            local: true,
            remote: false
        }
    );
}

#[test]
fn a_rejected_payload_is_replaced() {
    let mut chain = reading(false);
    chain.read_settled(ReadResult::Hit, 1);
    assert!(chain.load_failed());
    assert_eq!(
        publication(&mut chain),
        Publication {
            local: false,
            remote: true
        }
    );
}

#[test]
fn without_a_read_nothing_is_written() {
    assert_eq!(
        publication(&mut Chain::new(true, false)),
        Publication {
            local: true,
            remote: false
        }
    );
}

#[test]
fn the_source_has_a_deadline_of_its_own() {
    let mut chain = Chain::new(true, false);
    chain.source_started(Some(10));
    assert_eq!(chain.source_due(9), AfterSource::Stale);
    assert_eq!(chain.source_settled(true, 10), AfterSource::TimedOut);
    assert_eq!(chain.source_settled(true, 11), AfterSource::Stale);

    let mut chain = Chain::new(true, false);
    chain.source_started(Some(10));
    assert_eq!(chain.source_due(10), AfterSource::TimedOut);
    assert_eq!(chain.source_settled(true, 11), AfterSource::Stale);
}

fn tracked() -> Chain {
    let mut chain = Chain::new(true, true);
    chain.read_started(50, None);
    chain
}

#[test]
fn a_tracked_value_enters_the_local_layer_with_its_stamp_and_not_before() {
    let mut chain = tracked();
    chain.read_settled(ReadResult::Miss, 1);
    assert_eq!(
        publication(&mut chain),
        Publication {
            local: false,
            remote: true
        }
    );
    assert!(chain.publishes_when_stamped());
}

#[test]
fn a_failed_tracked_read_publishes_nothing_at_all() {
    for due in [true, false] {
        let mut chain = tracked();
        if due {
            chain.read_due(50);
        } else {
            chain.read_settled(ReadResult::Failed, 1);
        }
        assert_eq!(publication(&mut chain), Publication::default());
        assert!(!chain.publishes_when_stamped());
    }
}

#[test]
fn a_tracked_hit_is_published_unless_its_id_was_invalidated_meanwhile() {
    for barred in [false, true] {
        let mut chain = tracked();
        chain.read_settled(ReadResult::Hit, 1);
        if barred {
            chain.bar();
        }
        assert_eq!(
            chain.loaded(),
            Some(Publication {
                local: !barred,
                remote: false
            })
        );
    }
}

#[test]
fn an_invalidation_during_the_load_keeps_the_value_out_of_the_local_layer() {
    let mut chain = tracked();
    chain.read_settled(ReadResult::Miss, 1);
    chain.bar();
    assert_eq!(
        publication(&mut chain),
        Publication {
            local: false,
            remote: true
        }
    );
    assert!(!chain.publishes_when_stamped());
    let mut without_redis = Chain::new(true, true);
    without_redis.bar();
    assert_eq!(publication(&mut without_redis), Publication::default());
}
