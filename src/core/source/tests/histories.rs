//! Random histories of any order, told to a source and to its model.

use proptest::prelude::*;

use super::model::{Model, State, Story, Told};
use super::*;

#[derive(Clone, Debug)]
enum Happens {
    Call {
        aborted: bool,
        within: Option<u64>,
    },
    Settle {
        op: usize,
        attempt: u32,
        outcome: Outcome,
    },
    Abort {
        op: usize,
    },
    /// Time passes and what is due is fired.
    Pass {
        nanos: u64,
    },
    /// Time passes and no timer fires.
    Stall {
        nanos: u64,
    },
}

fn times() -> impl Strategy<Value = u64> {
    let times = [
        0,
        1,
        MS,
        9 * MS,
        10 * MS,
        11 * MS,
        49 * MS,
        50 * MS,
        100 * MS,
        SECOND,
        6 * SECOND,
    ];
    prop::sample::select(times.to_vec())
}

fn happens() -> impl Strategy<Value = Happens> {
    let outcome = prop_oneof![
        3 => Just(Outcome::Ok),
        5 => Just(Outcome::Transient),
        1 => Just(Outcome::Fatal),
    ];
    let within = prop::option::weighted(0.3, times());
    prop_oneof![
        5 => (prop::bool::weighted(0.05), within).prop_map(|(aborted, within)| Happens::Call { aborted, within }),
        8 => (0..6_usize, 0..6_u32, outcome)
            .prop_map(|(op, attempt, outcome)| Happens::Settle { op, attempt, outcome }),
        1 => (0..6_usize).prop_map(|op| Happens::Abort { op }),
        5 => times().prop_map(|nanos| Happens::Pass { nanos }),
        1 => times().prop_map(|nanos| Happens::Stall { nanos }),
    ]
}

fn sources() -> impl Strategy<Value = SourceOptions> {
    let auto = prop_oneof![Just(HedgeDelay::Auto), Just(HedgeDelay::Fixed(10.0))];
    let hedge = (
        auto,
        1..=2_u32,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(1..6_u32),
        1..4_u32,
    )
        .prop_map(|(delay, max, cancel_loser, gate, in_flight, burst)| HedgeOptions {
            delay: Some(delay),
            min_samples: Some(3.0),
            initial_delay_ms: Some(5.0),
            max_hedges: Some(f64::from(max)),
            cancel_loser: Some(cancel_loser),
            gate,
            max_in_flight: in_flight.map(f64::from),
            budget: BudgetOptions {
                ratio: None,
                burst: Some(f64::from(burst)),
            },
            ..HedgeOptions::default()
        });
    let policies = prop::sample::select(vec![Policy::Sequential, Policy::RoundRobin, Policy::Random]);
    let failover = (policies, any::<bool>()).prop_map(|(policy, respect)| FailoverOptions {
        policy: Some(policy),
        respect_circuit_breaker: Some(respect),
    });
    let retry = (1..=5_u32).prop_map(|max| RetryOptions {
        max_attempts: Some(f64::from(max)),
        ..RetryOptions::default()
    });
    (
        1..=3_usize,
        prop::option::of(Just(100.0)),
        prop::option::of(hedge),
        prop::option::of(failover),
        prop::option::of(retry),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(
            |(endpoints, timeout_ms, hedge, failover, retry, breaker, seed)| SourceOptions {
                endpoints,
                idempotent: true,
                timeout_ms,
                priority: None,
                hedge,
                failover,
                retry,
                breaker,
                seed,
            },
        )
}

struct History {
    desk: Desk,
    model: Model,
    ops: Vec<OpId>,
}

impl History {
    fn new(options: &SourceOptions) -> Self {
        let desk = Desk::new(options.clone());
        let model = Model::new(options, desk.source.plan(None));
        Self {
            desk,
            model,
            ops: Vec::new(),
        }
    }

    /// Reads the steps, answers the gate when it is asked, and answers all steps.
    fn read(&mut self, mut steps: Vec<Step>, told: Told) -> Vec<Step> {
        let mut index = 0;
        while let Some(step) = steps.get(index).copied() {
            index += 1;
            self.model.read(step, told, self.desk.now);
            if step.action == Action::AskGate {
                self.model.gate_turn += 1;
                let mut more = Vec::new();
                let allowed = !self.model.gate_turn.is_multiple_of(3);
                self.desk.source.gate(step.op, allowed, self.desk.now, &mut more);
                steps.extend(more);
            }
        }
        steps
    }

    fn happen(&mut self, what: &Happens) {
        let mut steps = Vec::new();
        match *what {
            Happens::Call { aborted, within } => {
                let call = Call {
                    plan: self.model.plan,
                    deadline: within.map(|within| self.desk.now + within),
                    aborted,
                };
                let op = self.desk.source.start(&call, self.desk.now, &mut steps);
                self.model.begin(op, &call, self.desk.now);
                self.ops.push(op);
                self.read(steps, Told::Start);
                let story = &self.model.stories[&op];
                assert!(!aborted || (story.attempts.is_empty() && story.answer.is_some()));
            }
            Happens::Settle { op, attempt, outcome } => {
                if let Some(op) = self.recent(op) {
                    self.settle(op, attempt, outcome);
                }
            }
            Happens::Abort { op } => {
                let Some(op) = self.recent(op) else { return };
                let unanswered = self.model.stories[&op].answer.is_none();
                self.desk.source.abort(op, self.desk.now, &mut steps);
                let steps = self.read(steps, Told::Abort(op));
                let aborted = steps
                    .iter()
                    .any(|step| step.action == Action::Reject(Rejection::Aborted));
                assert_eq!(aborted, unanswered);
            }
            Happens::Pass { nanos } => {
                let end = self.desk.now + nanos;
                while let Some(at) = self.desk.source.next_due().filter(|at| *at <= end) {
                    self.desk.now = self.desk.now.max(at);
                    let mut steps = Vec::new();
                    self.desk.source.advance(self.desk.now, &mut steps);
                    self.read(steps, Told::Time);
                }
                self.desk.now = end;
                let late = |story: &Story| story.is_late(end) && (story.answer.is_none() || story.runs() > 0);
                assert!(!self.model.stories.values().any(late), "nothing outlives its deadline");
            }
            Happens::Stall { nanos } => self.desk.now += nanos,
        }
        self.model.check(&self.desk.source);
    }

    fn settle(&mut self, op: OpId, attempt: u32, outcome: Outcome) {
        let now = self.desk.now;
        let story = self.model.stories.get_mut(&op).expect("known");
        let index = (attempt as usize).wrapping_sub(1);
        let running = story
            .attempts
            .get(index)
            .is_some_and(|attempt| attempt.2 == State::Running);
        let (late, answered) = (story.is_late(now), story.answer.is_some());
        if running && !late {
            story.attempts[index].2 = if outcome == Outcome::Ok {
                State::Ok
            } else {
                State::Failed
            };
        }
        let alone = story.runs() == 0;
        let mut steps = Vec::new();
        self.desk.source.settled(op, attempt, outcome, now, &mut steps);
        let steps = self.read(steps, Told::Settled(op, attempt, outcome));
        let story = &self.model.stories[&op];
        if !running {
            assert!(steps.is_empty(), "what is over changes nothing");
        } else if late {
            let timed_out = matches!(story.answer, Some(Action::Reject(Rejection::Deadline { .. })));
            assert!(timed_out || answered);
        } else if !answered {
            match outcome {
                Outcome::Ok => assert_eq!(story.answer, Some(Action::Resolve { attempt })),
                Outcome::Fatal => assert_eq!(story.answer, Some(Action::Reject(Rejection::Attempt(attempt)))),
                Outcome::Transient if !alone => self.model.failed_beside_others(story, &steps),
                Outcome::Transient if self.model.options.breaker => {}
                Outcome::Transient => self.model.after_failure(story, &steps),
            }
        }
    }

    /// One of the latest operations.
    fn recent(&self, back: usize) -> Option<OpId> {
        let index = self.ops.len().checked_sub(back + 1)?;
        Some(self.ops[index])
    }

    /// Lets everything end, and looks at what is left.
    fn end(&mut self) {
        self.happen(&Happens::Pass { nanos: 10 * SECOND });
        for op in self.ops.clone() {
            for attempt in 1..=self.model.stories[&op].attempts.len() {
                self.settle(op, u32::try_from(attempt).expect("few"), Outcome::Fatal);
            }
        }
        self.happen(&Happens::Pass { nanos: 10 * SECOND });
        assert!(
            self.model.stories.values().all(|story| story.answer.is_some()),
            "one settlement a call"
        );
        assert!(self.desk.is_idle(), "nothing is left over");
        self.model.add_up(&self.desk.source);
        let hedged = |event| self.desk.hedged(event);
        let ended = hedged(HedgeEvent::Won) + hedged(HedgeEvent::Lost) + hedged(HedgeEvent::Failed);
        assert_eq!(hedged(HedgeEvent::Started), ended);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn random_histories_agree_with_the_model(
        options in sources(),
        history in prop::collection::vec(happens(), 1..60),
    ) {
        let mut told = History::new(&options);
        for what in &history {
            told.happen(what);
        }
        told.end();
    }
}
