//! A model of a source: it keeps every operation's whole story, checks each step by reading it, and says
//! itself how a failure must go on.

use std::collections::HashMap;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Ok,
    Failed,
    Cancelled(CancelReason),
}

#[derive(Debug)]
pub(super) struct Story {
    pub(super) deadline: Option<Nanos>,
    pub(super) attempts: Vec<(AttemptKind, u32, State)>,
    pub(super) answer: Option<Action>,
}

impl Story {
    pub(super) fn runs(&self) -> usize {
        self.attempts
            .iter()
            .filter(|attempt| attempt.2 == State::Running)
            .count()
    }

    pub(super) fn is_late(&self, now: Nanos) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

pub(super) struct Model {
    pub(super) options: SourceOptions,
    pub(super) plan: Plan,
    pub(super) stories: HashMap<OpId, Story>,
    /// In tenths, as the ratio is.
    tokens: u32,
    burst: u32,
    pub(super) gate_turn: u32,
}

/// What was told, as far as it explains a rejection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Start,
    Settled(OpId, u32, Outcome),
    Abort(OpId),
    Time,
}

impl Model {
    pub(super) fn new(options: &SourceOptions, plan: Plan) -> Self {
        let burst = options.hedge.and_then(|hedge| hedge.budget.burst).unwrap_or(10.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and whole")]
        let burst = burst as u32 * 10;
        Self {
            options: options.clone(),
            plan,
            stories: HashMap::new(),
            tokens: burst,
            burst,
            gate_turn: 0,
        }
    }

    pub(super) fn begin(&mut self, op: OpId, call: &Call, now: Nanos) {
        let own = self.plan.timeout.map(|timeout| now + timeout);
        let story = Story {
            deadline: own.into_iter().chain(call.deadline).min(),
            attempts: Vec::new(),
            answer: None,
        };
        let before = self.stories.insert(op, story);
        assert!(before.is_none(), "ids are not used twice");
    }

    pub(super) fn read(&mut self, step: Step, told: Told, now: Nanos) {
        let story = self.stories.get_mut(&step.op).expect("a known operation");
        let cancels = self.plan.hedge.is_none_or(|hedge| hedge.cancel_loser);
        match step.action {
            Action::Tell(_) => {}
            Action::AskGate => assert!(self.options.hedge.is_some_and(|hedge| hedge.gate)),
            Action::Start {
                attempt,
                kind,
                endpoint,
            } => {
                assert!(story.answer.is_none(), "nothing starts after the answer");
                assert!(!story.is_late(now), "nothing starts after the deadline");
                assert_eq!(attempt as usize, story.attempts.len() + 1);
                assert!(attempt <= self.plan.max_attempts);
                assert!((endpoint as usize) < self.options.endpoints);
                assert_eq!(kind == AttemptKind::Primary, attempt == 1);
                match kind {
                    AttemptKind::Primary => self.tokens = (self.tokens + 1).min(self.burst),
                    AttemptKind::Hedge => {
                        assert!(self.plan.hedge.is_some());
                        self.tokens = self.tokens.checked_sub(10).expect("a token");
                    }
                    AttemptKind::Failover => {
                        assert!(self.plan.failover.is_some());
                        assert!(story.attempts.iter().all(|attempt| attempt.1 != endpoint));
                    }
                    AttemptKind::Retry => {
                        assert!(self.plan.retry.is_some());
                        assert_eq!(story.runs(), 0);
                    }
                }
                story.attempts.push((kind, endpoint, State::Running));
            }
            Action::Cancel { attempt, reason } => {
                let state = &mut story.attempts[attempt as usize - 1].2;
                assert!(
                    // What settles at the deadline is cancelled with the rest.
                    *state == State::Running,
                    "only what runs is cancelled"
                );
                *state = State::Cancelled(reason);
            }
            Action::Resolve { attempt } => {
                assert!(story.answer.is_none(), "one settlement");
                assert!(
                    told == Told::Settled(step.op, attempt, Outcome::Ok),
                    "the first usable result"
                );
                story.answer = Some(step.action);
                assert!(story.runs() == 0 || !cancels);
            }
            Action::Reject(rejection) => {
                assert!(story.answer.is_none(), "one settlement");
                story.answer = Some(step.action);
                assert_eq!(story.runs(), 0, "no error wins over a pending attempt");
                let failed = story
                    .attempts
                    .iter()
                    .filter(|attempt| attempt.2 == State::Failed)
                    .count();
                match rejection {
                    Rejection::Attempt(number) => {
                        let fatal = told == Told::Settled(step.op, number, Outcome::Fatal);
                        assert!(fatal || (story.attempts.len(), failed, number) == (1, 1, 1));
                    }
                    Rejection::Attempts => assert!(failed == story.attempts.len() && failed > 1),
                    Rejection::Deadline { .. } => assert!(story.is_late(now)),
                    Rejection::Aborted => assert!(told == Told::Abort(step.op) || story.attempts.is_empty()),
                    Rejection::BreakerOpen => assert!(self.options.breaker && story.attempts.is_empty()),
                }
            }
        }
    }

    /// How a failure with nothing pending must go on, when no breaker has a say.
    pub(super) fn after_failure(&self, story: &Story, steps: &[Step]) {
        let started = |wanted| {
            let starts = |step: &Step| matches!(step.action, Action::Start { kind, .. } if kind == wanted);
            steps.iter().any(starts)
        };
        let untried = |endpoint: &u32| story.attempts.iter().all(|attempt| attempt.1 != *endpoint);
        let before = story.attempts.len() - usize::from(story.runs() > 0);
        let before = u32::try_from(before).expect("few");
        let endpoints = u32::try_from(self.options.endpoints).expect("few");
        if before >= self.plan.max_attempts {
            assert!(story.answer.is_some(), "no attempt is left");
        } else if self.plan.failover.is_some()
            && (started(AttemptKind::Failover) || (0..endpoints).any(|e| untried(&e)))
        {
            assert!(started(AttemptKind::Failover), "another endpoint is tried at once");
        } else if self.plan.retry.is_some() {
            assert!(
                story.answer.is_none() || story.deadline.is_some(),
                "a backoff, unless there is no time for one"
            );
        } else {
            assert!(story.answer.is_some() || started(AttemptKind::Hedge), "at once");
        }
    }

    /// How a failure beside running attempts must go on: they are waited for, and an endpoint that is
    /// left is tried meanwhile.
    pub(super) fn failed_beside_others(&self, story: &Story, steps: &[Step]) {
        let is_failover = |step: &&Step| {
            matches!(
                step.action,
                Action::Start {
                    kind: AttemptKind::Failover,
                    ..
                } | Action::Tell(Event::Failover { .. })
            )
        };
        assert_eq!(steps.iter().filter(is_failover).count(), steps.len());
        assert!(story.answer.is_none(), "the others are waited for");
        let fails_over = !steps.is_empty();
        let before = story.attempts.len() - usize::from(fails_over);
        let tried = |endpoint: &u32| story.attempts[..before].iter().any(|attempt| attempt.1 == *endpoint);
        let endpoints = u32::try_from(self.options.endpoints).expect("few");
        let may = self.plan.failover.is_some()
            && u32::try_from(before).expect("few") < self.plan.max_attempts
            && !(0..endpoints).all(|endpoint| tried(&endpoint));
        assert!(may || !fails_over);
        assert!(
            fails_over || !may || self.options.breaker,
            "an endpoint that is left is tried at once"
        );
    }

    pub(super) fn check(&self, source: &Source) {
        let attempts = self.stories.values().flat_map(|story| &story.attempts);
        let counted =
            |attempt: &&(AttemptKind, u32, State)| attempt.2 == State::Running && attempt.0 != AttemptKind::Hedge;
        assert_eq!(source.in_flight() as usize, attempts.filter(counted).count());
        let live = |story: &&Story| story.answer.is_none() || story.runs() > 0;
        assert_eq!(source.pending(), self.stories.values().filter(live).count());
        let tokens = f64::from(self.tokens) / 10.0;
        assert!((source.tokens() - tokens).abs() < 1e-9, "tokens are conserved");
    }

    /// The counters, of every attempt there was.
    pub(super) fn add_up(&self, source: &Source) {
        let figures = source.figures();
        let mut ended = 0;
        for (kind, _) in AttemptKind::ALL {
            let attempts = self.stories.values().flat_map(|story| &story.attempts);
            let of_kind: Vec<State> = attempts
                .filter(|attempt| attempt.0 == kind)
                .map(|attempt| attempt.2)
                .collect();
            assert_eq!(figures.started_total(kind), of_kind.len() as u64);
            for (outcome, _) in AttemptOutcome::ALL {
                let is = |state: &&State| match outcome {
                    AttemptOutcome::Ok => **state == State::Ok,
                    AttemptOutcome::Error => **state == State::Failed,
                    AttemptOutcome::Timeout => **state == State::Cancelled(CancelReason::Deadline),
                    AttemptOutcome::Cancelled => {
                        matches!(state, State::Cancelled(reason) if *reason != CancelReason::Deadline)
                    }
                };
                assert_eq!(
                    figures.attempt_total(kind, outcome),
                    of_kind.iter().filter(is).count() as u64
                );
                ended += figures.attempt_total(kind, outcome);
            }
        }
        let started: u64 = AttemptKind::ALL
            .iter()
            .map(|(kind, _)| figures.started_total(*kind))
            .sum();
        assert_eq!(started, ended, "counters add up");
    }
}
