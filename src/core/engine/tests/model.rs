//! Random histories against a model that keeps every leader's whole story and answers by reading it:
//! who is served what, what is published where, which commands Redis gets, and which events fire.

mod calls;
mod events;
mod ops;
mod outside;
mod story;

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::super::envelope::{OpenOutcome, SealOutcome};
use super::*;
use events::Events;
use ops::{Op, op};
use story::{Leader, Stage};

const READ_TIMEOUT: u64 = 50 * MS;
const SOURCE_TIMEOUT: u64 = SEC;
const LOCAL_TTL: u64 = 60 * SEC;
const IDS: [&str; 2] = ["1", "2"];
const ROOM: u64 = 100;

/// The first six leave nothing out, the others are off in part, for a reason each.
const USE_CASES: [Policies; 12] = [
    BOTH,
    REMOTE,
    LOCAL,
    Policies { tracked: true, ..BOTH },
    Policies {
        tracked: true,
        ..REMOTE
    },
    Policies {
        coalesce: false,
        ..BOTH
    },
    NEITHER,
    Policies {
        local: Some(0.5),
        remote: Some(31_536_001.0),
        ..BOTH
    },
    Policies {
        ramp_local: Leaf::Invalid,
        ..BOTH
    },
    Policies {
        ramp_local: Leaf::Number(0.0),
        ramp_remote: Leaf::Number(101.0),
        tracked: true,
        ..BOTH
    },
    Policies {
        ramp_local: Leaf::Number(40.0),
        ramp_remote: Leaf::Number(60.0),
        ..BOTH
    },
    Policies {
        ramp_local: Leaf::Number(60.0),
        ramp_remote: Leaf::Number(40.0),
        tracked: true,
        ..BOTH
    },
];

struct Local {
    value: usize,
    expires: u64,
}

struct World {
    engine: Engine,
    use_cases: Vec<UseCaseId>,
    /// Whether the process-local layer has room for anything.
    room: bool,
    /// Whether the Redis layer was turned off.
    closed: bool,
    now: u64,
    leaders: Vec<Leader>,
    local: HashMap<(usize, usize), Local>,
    /// What the caller of the engine keeps: values by slot.
    slots: HashMap<Slot, usize>,
    events: Events,
    reads: u64,
    writes: u64,
}

impl World {
    fn new(room: bool) -> Self {
        let mut engine = evicting(Eviction::Lru, if room { ROOM } else { 0 });
        let use_cases = (0..USE_CASES.len()).map(|n| register(&mut engine, &name(n), &USE_CASES[n]));
        let use_cases = use_cases.collect();
        Self {
            engine,
            use_cases,
            room,
            closed: false,
            now: 0,
            leaders: Vec::new(),
            local: HashMap::new(),
            slots: HashMap::new(),
            events: Events::default(),
            reads: 0,
            writes: 0,
        }
    }

    fn run(&mut self, op: &Op) {
        let reading = |stage| stage == Stage::Reading;
        let writing = |stage| matches!(stage, Stage::Writing { .. });
        let sourcing = |stage| matches!(stage, Stage::Sourcing { .. });
        match *op {
            Op::Call { use_case, id } => self.call(use_case, id),
            Op::Uncached { use_case } => self.uncached(use_case),
            Op::BadKey { use_case } => self.bad_key(use_case),
            Op::Refuse { leader } => self.at(leader, reading, Self::refuse),
            Op::Reply { leader, result, opened } => {
                self.at(leader, reading, |world, n| world.reply(n, result, opened));
            }
            Op::Late { leader } => self.at(leader, sourcing, Self::late),
            Op::Load { leader, ok } => self.at(leader, |s| s == Stage::Loading, |world, n| world.load(n, ok)),
            Op::Source { leader, ok } => self.at(leader, sourcing, |world, n| world.source(n, ok)),
            Op::Seal { leader, outcome } => self.at(leader, writing, |world, n| world.seal(n, outcome)),
            Op::Write { leader, result } => self.at(leader, writing, |world, n| world.write(n, result)),
            Op::DumpFailed { leader } => self.at(leader, writing, Self::dump_failed),
            Op::Invalidate { id } => self.invalidate(id),
            Op::Advance { nanos } => self.now += nanos,
            Op::Fire => self.fire(),
            Op::Close => self.close(),
        }
        for slot in self.engine.take_freed() {
            self.slots.remove(&slot);
        }
    }

    /// Does something with one of the leaders that are at a stage.
    fn at(&mut self, nth: usize, wanted: impl Fn(Stage) -> bool, act: impl FnOnce(&mut Self, usize)) {
        let leaders = self.leaders.iter().enumerate();
        let there: Vec<usize> = leaders
            .filter(|(_, leader)| wanted(leader.stage))
            .map(|(n, _)| n)
            .collect();
        if !there.is_empty() {
            act(self, there[nth % there.len()]);
        }
    }

    fn tell(&mut self, n: usize, counter: Counter) {
        self.events.tell(self.leaders[n].use_case, counter);
    }

    /// The client took no more requests: nothing waited for a deadline.
    fn refuse(&mut self, n: usize) {
        let late = self.leaders[n].read_is_late(self.now);
        self.engine.read_refused(self.leaders[n].flight, self.now);
        self.tell(
            n,
            if late {
                Counter::ReadTimeout
            } else {
                Counter::ReadFailed
            },
        );
        self.events
            .take_back(self.leaders[n].use_case, Counter::ReadDeadlineArmed);
        self.reads -= 1;
        self.start_source(n);
    }

    fn reply(&mut self, n: usize, result: ReadResult, opened: OpenOutcome) {
        let verdict = self.engine.read_settled(self.leaders[n].flight, result, self.now);
        let (expected, counter) = match result {
            _ if self.leaders[n].read_is_late(self.now) => (AfterRead::TimedOut, Some(Counter::ReadTimeout)),
            ReadResult::Hit => (AfterRead::Load, None),
            ReadResult::Miss => (AfterRead::Miss, Some(Counter::RemoteMiss)),
            ReadResult::Failed => (AfterRead::Failed, Some(Counter::ReadFailed)),
        };
        assert_eq!(verdict, expected);
        if let Some(counter) = counter {
            self.tell(n, counter);
        }
        self.leaders[n].clean = expected == AfterRead::Miss;
        if expected != AfterRead::Load {
            self.start_source(n);
            return;
        }
        self.engine.opened(self.leaders[n].flight, opened);
        self.leaders[n].stage = Stage::Loading;
        match opened {
            OpenOutcome::Passthrough => {}
            OpenOutcome::Decompressed => self.tell(n, Counter::Decompressed),
            OpenOutcome::FallbackRaw => self.tell(n, Counter::FallbackRaw),
            OpenOutcome::OverLimit => self.tell(n, Counter::ReadOverLimit),
        }
    }

    /// A reply for a leader that no longer waits for one.
    fn late(&mut self, n: usize) {
        let flight = self.leaders[n].flight;
        assert_eq!(
            self.engine.read_settled(flight, ReadResult::Failed, self.now),
            AfterRead::Stale
        );
        assert_eq!(self.engine.read_due(flight, self.now), AfterRead::Stale);
    }

    fn load(&mut self, n: usize, ok: bool) {
        let flight = self.leaders[n].flight;
        if !ok {
            self.engine.load_failed(flight);
            self.tell(n, Counter::LoadFailed);
            self.tell(n, Counter::RemoteMiss);
            self.leaders[n].clean = true;
            self.start_source(n);
            return;
        }
        let slot = self.engine.loaded(flight, self.now);
        self.tell(n, Counter::RemoteHit);
        let leader = &mut self.leaders[n];
        leader.stage = Stage::Over;
        let keeps = leader.local && !leader.invalidated;
        self.check_kept(n, slot, keeps);
    }

    fn start_source(&mut self, n: usize) {
        self.engine.source_started(self.leaders[n].flight, self.now);
        self.leaders[n].stage = Stage::Sourcing { since: self.now };
        self.tell(n, Counter::SourceCall);
    }

    fn source(&mut self, n: usize, ok: bool) {
        let settled = self.engine.source_settled(self.leaders[n].flight, ok, self.now);
        let now = self.now;
        let leader = &mut self.leaders[n];
        let Stage::Sourcing { since } = leader.stage else {
            return;
        };
        leader.stage = Stage::Over;
        if now >= since + SOURCE_TIMEOUT {
            assert_eq!(settled, Settled::TimedOut);
            self.tell(n, Counter::SourceTimeout);
            return;
        }
        if !ok {
            assert_eq!(settled, Settled::Failed);
            self.tell(n, Counter::SourceFailed);
            return;
        }
        let keeps = leader.local && !leader.invalidated && (!leader.tracked || !leader.read);
        let writes = leader.clean && !self.closed;
        let Settled::Accepted { slot, write, joinable } = settled else {
            panic!("{settled:?} instead of a value");
        };
        assert_eq!(write, writes, "a write for each clean miss, and for nothing else");
        if writes {
            leader.stage = Stage::Writing { since: now };
            leader.kept = keeps;
            leader.linger_armed = leader.joinable(now);
            assert_eq!(joinable, leader.linger_armed);
            self.writes += 1;
        } else if leader.read {
            self.tell(n, Counter::WriteSkipped);
        }
        self.check_kept(n, slot, keeps);
    }

    fn seal(&mut self, n: usize, outcome: SealOutcome) {
        self.engine.sealed(self.leaders[n].flight, outcome);
        match outcome {
            SealOutcome::Disabled | SealOutcome::Failed => {}
            SealOutcome::BelowThreshold => self.tell(n, Counter::BelowThreshold),
            SealOutcome::NotSmaller => self.tell(n, Counter::NotSmaller),
            SealOutcome::OverLimit => self.tell(n, Counter::WriteOverLimit),
            SealOutcome::Compressed => self.tell(n, Counter::Compressed),
        }
    }

    fn write(&mut self, n: usize, result: WriteResult) {
        let slot = self.engine.write_settled(self.leaders[n].flight, result, self.now);
        self.tell(
            n,
            match result {
                WriteResult::Stored => Counter::WriteOk,
                WriteResult::Fenced => Counter::WriteFenced,
                WriteResult::Failed => Counter::WriteFailed,
            },
        );
        self.writes -= 1;
        let leader = &mut self.leaders[n];
        leader.stage = Stage::Over;
        let stamped = leader.tracked && result == WriteResult::Stored;
        let keeps = leader.local && stamped && !leader.invalidated;
        self.check_kept(n, slot, keeps);
    }

    fn dump_failed(&mut self, n: usize) {
        self.engine.dump_failed(self.leaders[n].flight);
        self.tell(n, Counter::DumpFailed);
        self.writes -= 1;
        self.leaders[n].stage = Stage::Over;
    }

    fn check_kept(&mut self, n: usize, slot: Option<Slot>, keeps: bool) {
        assert_eq!(slot.is_some(), keeps, "{:?}", self.leaders[n]);
        let leader = &self.leaders[n];
        if let Some(slot) = slot {
            self.slots.insert(slot, leader.value);
            let (value, expires) = (leader.value, self.now + LOCAL_TTL);
            self.local
                .insert((leader.use_case, leader.id), Local { value, expires });
        }
    }

    fn check(&mut self) {
        self.events.compare(&self.engine);
        let counted = |leader: &&Leader| leader.unanswered() && leader.shared;
        let unanswered: Vec<&Leader> = self.leaders.iter().filter(counted).collect();
        let gauges = self.engine.gauges();
        let expected = Unanswered {
            leaders: u32::try_from(unanswered.len()).unwrap(),
            followers: unanswered.iter().map(|leader| leader.followers).sum(),
            oldest: unanswered.iter().map(|leader| leader.started).min(),
        };
        assert_eq!(gauges.unanswered, expected);
        let armed = self.leaders.iter().filter(|leader| leader.deadline().is_some());
        assert_eq!(gauges.timers, armed.count());
        assert_eq!(gauges.local_entries, self.slots.len());
        // The commands that went out.
        assert_eq!(super::counted(&self.engine, Counter::ReadDeadlineArmed), self.reads);
        let writing = self
            .leaders
            .iter()
            .filter(|leader| matches!(leader.stage, Stage::Writing { .. }));
        assert_eq!(writing.count() as u64, self.writes);
    }
}

fn name(use_case: usize) -> String {
    format!("U{use_case}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn random_histories_agree_with_the_model(
        room in prop::bool::weighted(0.9),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut world = World::new(room);
        for op in &ops {
            world.run(op);
            world.check();
        }
    }
}
