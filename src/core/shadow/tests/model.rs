//! Random histories of several jobs against what must hold of each, whatever happens.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const ROOM: usize = 2;
const KEYS: [&[u8]; 3] = [b"a", b"b", b"c"];

#[derive(Clone, Debug)]
enum Op {
    Admit { key: usize, served: bool },
    Start { job: usize },
    Settle { job: usize, work: usize, how: usize },
    Compare { job: usize, how: usize },
    CallersSource { job: usize, ok: bool },
    Answer { job: usize },
    Advance { nanos: u64 },
    Fire,
    Bar,
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let job = 0..6_usize;
    prop_oneof![
        4 => (0..KEYS.len(), any::<bool>()).prop_map(|(key, served)| Op::Admit { key, served }),
        4 => job.clone().prop_map(|job| Op::Start { job }),
        8 => (job.clone(), 0..2_usize, 0..4_usize).prop_map(|(job, work, how)| Op::Settle { job, work, how }),
        3 => (job.clone(), 0..3_usize).prop_map(|(job, how)| Op::Compare { job, how }),
        3 => (job.clone(), prop::bool::weighted(0.8)).prop_map(|(job, ok)| Op::CallersSource { job, ok }),
        3 => job.prop_map(|job| Op::Answer { job }),
        2 => prop::sample::select(vec![1, MS, READ_TIMEOUT, TIMEOUT / 2]).prop_map(|nanos| Op::Advance { nanos }),
        2 => Just(Op::Fire),
        1 => Just(Op::Bar),
        1 => prop::bool::weighted(0.1).prop_map(|close| if close { Op::Close } else { Op::Fire }),
    ]
}

/// How work may end, as it is told.
fn endings(work: Next) -> &'static [Told] {
    match work {
        Next::Read => &[Told::Hit, Told::Hit, Told::Miss, Told::ReadFailed],
        Next::Source => &[Told::SourceOk, Told::SourceOk, Told::SourceOk, Told::SourceFailed],
        Next::Load => &[Told::Loaded, Told::Loaded, Told::Loaded, Told::LoadFailed],
        Next::Confirm => &[Told::Same, Told::Same, Told::Changed, Told::ReadFailed],
        Next::Dump => &[Told::Dumped, Told::Dumped, Told::Dumped, Told::DumpFailed],
        Next::Fill => &[Told::Stored, Told::Stored, Told::Fenced, Told::FillFailed],
        other => panic!("{other:?} is no work"),
    }
}

/// What happened to one job, as far as the rules speak of it.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the story is told by what happened, not by a state machine"
)]
struct Story {
    id: ShadowId,
    key: usize,
    served: bool,
    admitted: u64,
    started: bool,
    /// Work that was begun and has not settled.
    running: Vec<Next>,
    /// Everything that was ever begun.
    begun: Vec<Next>,
    comparing: bool,
    source: Option<bool>,
    answered: bool,
    read_began: u64,
    outcome: Option<Outcome>,
}

impl Story {
    fn holds_a_place(&self) -> bool {
        self.outcome.is_none() || !self.running.is_empty()
    }
}

struct World {
    shadows: Shadows,
    now: u64,
    open: bool,
    stories: Vec<Story>,
}

impl World {
    fn places(&self) -> usize {
        self.stories.iter().filter(|story| story.holds_a_place()).count()
    }

    fn admit(&mut self, key: usize, served: bool) {
        let taken = self
            .stories
            .iter()
            .any(|story| story.key == key && story.holds_a_place());
        let room = self.places() < ROOM;
        let origin = if served { Origin::Served } else { Origin::RampedDown };
        let admitted = self.shadows.admit(facts(origin, KEYS[key], 1), self.now);
        assert_eq!(admitted.is_some(), room && !taken);
        if let Some(id) = admitted {
            self.stories.push(Story {
                id,
                key,
                served,
                admitted: self.now,
                started: false,
                running: Vec::new(),
                begun: Vec::new(),
                comparing: false,
                source: None,
                answered: false,
                read_began: 0,
                outcome: None,
            });
        }
    }

    fn tell(&mut self, at: usize, told: Told) {
        let now = self.now;
        let story = &mut self.stories[at];
        let next = self.shadows.tell(story.id, told, now);
        if story.outcome.is_some() {
            assert_eq!(next, Next::Stale, "after the outcome");
            return;
        }
        assert_ne!(next, Next::Stale, "before the outcome: {story:?}");
        let due = now >= story.admitted + TIMEOUT;
        let callers_failure = told == Told::SourceFailed && !story.served;
        if due && !callers_failure {
            assert_eq!(next, Next::Done(Outcome::Timeout));
        }
        story.comparing = next == Next::Compare;
        if next.begins_work() {
            assert!(!due, "begun after the deadline");
            assert!(!story.begun.contains(&next), "{next:?} twice: {story:?}");
            if matches!(next, Next::Read | Next::Confirm | Next::Fill) {
                assert!(self.open, "asked of a layer that is off");
            }
            if matches!(next, Next::Load | Next::Fill) && !story.served {
                assert!(story.answered, "before the caller was answered");
            }
            if next == Next::Fill {
                assert_eq!(story.source, Some(true));
            }
            if matches!(next, Next::Read | Next::Confirm) {
                story.read_began = now;
            }
            story.begun.push(next);
            story.running.push(next);
        }
        if let Next::Done(outcome) = next {
            explain(story, told, outcome, now);
            story.outcome = Some(outcome);
        }
    }

    fn fire(&mut self) {
        while let Some(id) = self.shadows.pop_due(self.now) {
            let at = self.stories.iter().rposition(|story| story.id == id);
            self.tell(at.expect("a job that was admitted"), Told::Due);
        }
    }

    fn apply(&mut self, op: &Op) {
        let count = self.stories.len();
        // Mostly recent ones: the others are over.
        let pick = |job: usize| count.checked_sub(1 + job % count.max(1));
        match *op {
            Op::Admit { key, served } => self.admit(key, served),
            Op::Advance { nanos } => self.now += nanos,
            Op::Fire => self.fire(),
            Op::Bar => self.shadows.bar(1),
            Op::Close => {
                self.open = false;
                self.shadows.close();
                for at in 0..count {
                    self.tell(at, Told::Closed);
                }
            }
            Op::Start { job } => {
                if let Some(at) = pick(job)
                    && !self.stories[at].started
                {
                    self.stories[at].started = true;
                    self.tell(at, Told::Started);
                }
            }
            Op::Settle { job, work, how } => {
                if let Some(at) = pick(job)
                    && !self.stories[at].running.is_empty()
                {
                    self.settle(at, work, how);
                }
            }
            Op::Compare { job, how } => {
                if let Some(at) = pick(job)
                    && self.stories[at].comparing
                {
                    self.tell(at, [Told::Equal, Told::Different, Told::CompareFailed][how]);
                }
            }
            Op::CallersSource { job, ok } => {
                if let Some(at) = pick(job)
                    && !self.stories[at].served
                    && self.stories[at].source.is_none()
                {
                    self.stories[at].source = Some(ok);
                    self.tell(at, if ok { Told::SourceOk } else { Told::SourceFailed });
                }
            }
            Op::Answer { job } => {
                if let Some(at) = pick(job)
                    && self.stories[at].source == Some(true)
                    && !self.stories[at].answered
                {
                    self.stories[at].answered = true;
                    self.tell(at, Told::Answered);
                }
            }
        }
        assert_eq!(self.shadows.len(), self.places());
        assert_eq!(
            self.shadows.timers() == 0,
            self.shadows.next_due().is_none(),
            "a deadline that is counted comes"
        );
    }

    fn settle(&mut self, at: usize, work: usize, how: usize) {
        let running = &mut self.stories[at].running;
        let work = running.remove(work % running.len());
        self.tell(at, endings(work)[how]);
    }
}

/// Whether an outcome is what the rules make of what was told.
fn explain(story: &Story, told: Told, outcome: Outcome, now: u64) {
    let explained = match outcome {
        Outcome::Match => told == Told::Equal,
        Outcome::ComparisonError => told == Told::CompareFailed,
        Outcome::Mismatch => told == Told::Same && now < story.read_began + READ_TIMEOUT,
        Outcome::Superseded => told == Told::Changed && now < story.read_began + READ_TIMEOUT,
        Outcome::ConfirmationError => {
            let late = now >= story.read_began + READ_TIMEOUT;
            match told {
                Told::ReadFailed | Told::Closed => story.begun.contains(&Next::Confirm),
                Told::Same | Told::Changed | Told::Due => story.begun.contains(&Next::Confirm) && late,
                told => told == Told::Different,
            }
        }
        Outcome::Filled => told == Told::Stored,
        Outcome::FillBlocked => !story.served && !story.begun.contains(&Next::Fill) || told == Told::Fenced,
        Outcome::FillError => !story.served && told != Told::Stored,
        Outcome::RedisError => !story.served && !story.begun.contains(&Next::Load),
        Outcome::SourceError => told == Told::SourceFailed,
        Outcome::DeserializationError => told == Told::LoadFailed,
        Outcome::Timeout => now >= story.admitted + TIMEOUT,
        Outcome::Dropped => false,
    };
    assert!(explained, "{outcome:?} after {told:?}: {story:?}");
}

proptest! {
    #[test]
    fn every_job_has_one_outcome_and_leaves_nothing(ops in prop::collection::vec(op(), 1..200)) {
        let mut world = World { shadows: shadows(ROOM), now: 0, open: true, stories: Vec::new() };
        for op in &ops {
            world.apply(op);
        }
        world.now += TIMEOUT;
        world.fire();
        for at in 0..world.stories.len() {
            prop_assert!(world.stories[at].outcome.is_some(), "{:?}", world.stories[at]);
            while !world.stories[at].running.is_empty() {
                world.settle(at, 0, 0);
            }
        }
        prop_assert!(world.shadows.is_empty());
        prop_assert_eq!(world.shadows.next_due(), None);
        let mut ids = HashSet::new();
        for story in &world.stories {
            prop_assert!(ids.insert(story.id), "a number twice");
        }
    }
}
