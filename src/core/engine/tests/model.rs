//! Random histories against a model that keeps every leader's whole story and answers by reading it.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const READ_TIMEOUT: u64 = 50 * MS;
const SOURCE_TIMEOUT: u64 = SEC;
const LOCAL_TTL: u64 = 60 * SEC;
const IDS: [&str; 2] = ["1", "2"];

const USE_CASES: [Policies; 6] = [
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
];

#[derive(Clone, Debug)]
enum Op {
    Call { use_case: usize, id: usize },
    Reply { leader: usize, result: ReadResult },
    Load { leader: usize, ok: bool },
    Source { leader: usize, ok: bool },
    Write { leader: usize, result: WriteResult },
    Invalidate { id: usize },
    Advance { nanos: u64 },
    Fire,
}

fn op() -> impl Strategy<Value = Op> {
    let leader = 0..8_usize;
    let read = prop_oneof![Just(ReadResult::Hit), Just(ReadResult::Miss), Just(ReadResult::Failed)];
    let written = prop_oneof![
        3 => Just(WriteResult::Stored),
        1 => Just(WriteResult::Fenced),
        1 => Just(WriteResult::Failed),
    ];
    let steps = [1, MS, 49 * MS, 50 * MS, 999 * MS, SEC, 59 * SEC, 60 * SEC];
    prop_oneof![
        6 => (0..USE_CASES.len(), 0..IDS.len()).prop_map(|(use_case, id)| Op::Call { use_case, id }),
        4 => (leader.clone(), read).prop_map(|(leader, result)| Op::Reply { leader, result }),
        2 => (leader.clone(), any::<bool>()).prop_map(|(leader, ok)| Op::Load { leader, ok }),
        4 => (leader.clone(), prop::bool::weighted(0.8)).prop_map(|(leader, ok)| Op::Source { leader, ok }),
        3 => (leader, written).prop_map(|(leader, result)| Op::Write { leader, result }),
        1 => (0..IDS.len()).prop_map(|id| Op::Invalidate { id }),
        3 => prop::sample::select(steps.to_vec()).prop_map(|nanos| Op::Advance { nanos }),
        1 => Just(Op::Fire),
    ]
}

/// What a leader does now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Reading,
    Loading,
    Sourcing { since: u64 },
    Writing { since: u64 },
    Over,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the story is told by what happened, not by a state machine"
)]
struct Leader {
    flight: FlightId,
    use_case: usize,
    id: usize,
    started: u64,
    followers: u32,
    stage: Stage,
    clean: bool,
    read: bool,
    /// What it would answer or has answered; no two leaders have the same.
    value: usize,
    invalidated: bool,
    kept: bool,
    linger_armed: bool,
}

impl Leader {
    fn policies(&self) -> &'static Policies {
        &USE_CASES[self.use_case]
    }

    fn unanswered(&self) -> bool {
        matches!(self.stage, Stage::Reading | Stage::Loading | Stage::Sourcing { .. })
    }

    fn joinable(&self, now: u64) -> bool {
        let open = match self.stage {
            Stage::Over => false,
            Stage::Writing { since } => !self.kept && now < since + READ_TIMEOUT,
            _ => true,
        };
        open && self.policies().coalesce && !self.invalidated
    }

    fn deadline(&self) -> Option<u64> {
        match self.stage {
            Stage::Reading => Some(self.started + READ_TIMEOUT),
            Stage::Sourcing { since } => Some(since + SOURCE_TIMEOUT),
            Stage::Writing { since } if self.linger_armed => Some(since + READ_TIMEOUT),
            _ => None,
        }
    }
}

struct Local {
    value: usize,
    expires: u64,
}

struct World {
    engine: Engine,
    use_cases: Vec<UseCaseId>,
    now: u64,
    leaders: Vec<Leader>,
    local: HashMap<(usize, usize), Local>,
    /// What the caller of the engine keeps: values by slot.
    slots: HashMap<Slot, usize>,
    reads: u64,
    sources: u64,
    writes: u64,
}

impl World {
    fn new() -> Self {
        let mut engine = engine();
        let use_cases = (0..USE_CASES.len()).map(|n| register(&mut engine, &format!("U{n}"), &USE_CASES[n]));
        let use_cases = use_cases.collect();
        Self {
            engine,
            use_cases,
            now: 0,
            leaders: Vec::new(),
            local: HashMap::new(),
            slots: HashMap::new(),
            reads: 0,
            sources: 0,
            writes: 0,
        }
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Call { use_case, id } => self.call(use_case, id),
            Op::Reply { leader, result } => self.at(leader, |s| s == Stage::Reading, |world, n| world.reply(n, result)),
            Op::Load { leader, ok } => self.at(leader, |s| s == Stage::Loading, |world, n| world.load(n, ok)),
            Op::Source { leader, ok } => {
                self.at(
                    leader,
                    |s| matches!(s, Stage::Sourcing { .. }),
                    |world, n| world.source(n, ok),
                );
            }
            Op::Write { leader, result } => {
                self.at(
                    leader,
                    |s| matches!(s, Stage::Writing { .. }),
                    |world, n| world.write(n, result),
                );
            }
            Op::Invalidate { id } => self.invalidate(id),
            Op::Advance { nanos } => self.now += nanos,
            Op::Fire => self.fire(),
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

    fn call(&mut self, use_case: usize, id: usize) {
        let begin = begin(&mut self.engine, self.use_cases[use_case], IDS[id], self.now);
        let now = self.now;
        let same = |leader: &&mut Leader| leader.use_case == use_case && leader.id == id && leader.joinable(now);
        if let Some(leader) = self.leaders.iter_mut().rev().find(same) {
            assert_eq!(begin, Begin::Join(leader.flight));
            if leader.unanswered() {
                leader.followers += 1;
            }
            return;
        }
        let policies = &USE_CASES[use_case];
        let known = self.local.get(&(use_case, id)).filter(|local| now < local.expires);
        if let Some(local) = known.filter(|_| policies.local.is_some()) {
            let Begin::Hit(slot) = begin else {
                panic!("{begin:?} instead of a hit");
            };
            assert_eq!(self.slots[&slot], local.value);
            return;
        }
        let (flight, stage) = match begin {
            Begin::Read(flight) if policies.remote.is_some() => (flight, Stage::Reading),
            Begin::Source(flight) if policies.remote.is_none() => (flight, Stage::Sourcing { since: now }),
            other => panic!("{other:?} instead of a leader"),
        };
        self.reads += u64::from(stage == Stage::Reading);
        self.leaders.push(Leader {
            flight,
            use_case,
            id,
            started: now,
            followers: 0,
            stage,
            clean: false,
            read: policies.remote.is_some(),
            value: self.leaders.len(),
            invalidated: false,
            kept: false,
            linger_armed: false,
        });
        if policies.remote.is_none() {
            self.start_source(self.leaders.len() - 1);
        }
    }

    fn reply(&mut self, n: usize, result: ReadResult) {
        let verdict = self.engine.read_settled(self.leaders[n].flight, result, self.now);
        let late = self.now >= self.leaders[n].started + READ_TIMEOUT;
        let expected = match result {
            _ if late => AfterRead::TimedOut,
            ReadResult::Hit => AfterRead::Load,
            ReadResult::Miss => AfterRead::Miss,
            ReadResult::Failed => AfterRead::Failed,
        };
        assert_eq!(verdict, expected);
        self.leaders[n].clean = expected == AfterRead::Miss;
        if expected == AfterRead::Load {
            self.leaders[n].stage = Stage::Loading;
        } else {
            self.start_source(n);
        }
    }

    fn load(&mut self, n: usize, ok: bool) {
        let flight = self.leaders[n].flight;
        if !ok {
            self.engine.load_failed(flight);
            self.leaders[n].clean = true;
            self.start_source(n);
            return;
        }
        let slot = self.engine.loaded(flight, self.now);
        let leader = &mut self.leaders[n];
        leader.stage = Stage::Over;
        let keeps = leader.policies().local.is_some() && !leader.invalidated;
        self.check_kept(n, slot, keeps);
    }

    fn start_source(&mut self, n: usize) {
        self.engine.source_started(self.leaders[n].flight, self.now);
        self.leaders[n].stage = Stage::Sourcing { since: self.now };
        self.sources += 1;
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
            return;
        }
        if !ok {
            assert_eq!(settled, Settled::Failed);
            return;
        }
        let policies = leader.policies();
        let keeps = policies.local.is_some() && !leader.invalidated && (!policies.tracked || !leader.read);
        let writes = leader.clean;
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
        }
        self.check_kept(n, slot, keeps);
    }

    fn write(&mut self, n: usize, result: WriteResult) {
        let slot = self.engine.write_settled(self.leaders[n].flight, result, self.now);
        let leader = &mut self.leaders[n];
        leader.stage = Stage::Over;
        let policies = leader.policies();
        let stamped = policies.tracked && result == WriteResult::Stored;
        let keeps = policies.local.is_some() && stamped && !leader.invalidated;
        self.check_kept(n, slot, keeps);
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

    fn invalidate(&mut self, id: usize) {
        self.engine.invalidate("id", IDS[id]).unwrap();
        self.local
            .retain(|(use_case, other), _| *other != id || !USE_CASES[*use_case].tracked);
        for leader in &mut self.leaders {
            if leader.id == id && leader.policies().tracked && leader.stage != Stage::Over {
                leader.invalidated = true;
                leader.linger_armed = false;
            }
        }
    }

    fn fire(&mut self) {
        let mut due: HashMap<FlightId, Due> = HashMap::new();
        while let Some(next) = self.engine.pop_due(self.now) {
            let (Due::Read(flight) | Due::Source(flight) | Due::Linger(flight)) = next else {
                panic!("neither hedged nor shadowed: {next:?}");
            };
            due.insert(flight, next);
        }
        let now = self.now;
        let over = |leader: &Leader| leader.deadline().is_some_and(|deadline| now >= deadline);
        let expected: Vec<usize> = (0..self.leaders.len()).filter(|n| over(&self.leaders[*n])).collect();
        assert_eq!(due.len(), expected.len());
        for n in expected {
            let leader = &mut self.leaders[n];
            let flight = leader.flight;
            let kind = match leader.stage {
                Stage::Reading => Due::Read(flight),
                Stage::Sourcing { .. } => Due::Source(flight),
                _ => Due::Linger(flight),
            };
            assert_eq!(due[&flight], kind);
            match kind {
                Due::Read(_) => self.start_source(n),
                Due::Source(_) => leader.stage = Stage::Over,
                _ => leader.linger_armed = false,
            }
        }
    }

    fn check(&self) {
        let counted = |leader: &&Leader| leader.unanswered() && leader.policies().coalesce;
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
        for (counter, expected) in [
            (Counter::RemoteRequest, self.reads),
            (Counter::ReadDeadlineArmed, self.reads),
            (Counter::SourceCall, self.sources),
        ] {
            assert_eq!(super::counted(&self.engine, counter), expected, "{counter:?}");
        }
        let settled = [Counter::WriteOk, Counter::WriteFenced, Counter::WriteFailed];
        let settled: u64 = settled
            .iter()
            .map(|counter| super::counted(&self.engine, *counter))
            .sum();
        let writing = self
            .leaders
            .iter()
            .filter(|leader| matches!(leader.stage, Stage::Writing { .. }));
        assert_eq!(settled + writing.count() as u64, self.writes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn random_histories_agree_with_the_model(ops in prop::collection::vec(op(), 1..60)) {
        let mut world = World::new();
        for op in &ops {
            world.run(op);
            world.check();
        }
    }
}
