//! Open-loop calls of a real source in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dialcache_native::core::Nanos;
use dialcache_native::core::source::{Action, AttemptKind, Call, OpId, Outcome, Source, SourceOptions, Step};

pub const MS: f64 = 1e6;
pub const SECOND: Nanos = 1_000_000_000;

/// One run.
pub struct Scenario<'a> {
    pub options: SourceOptions,
    /// Draws an attempt's latency in milliseconds: of which call (a random number of its own), and when.
    pub latency: &'a (dyn Fn(&mut fastrand::Rng, u64, Nanos) -> f64 + Sync),
    /// Requests a second. They arrive when they arrive, however many are under way.
    pub rate: f64,
    /// Calls that a request makes at once; it takes as long as the longest.
    pub fan_out: u32,
    pub length: Nanos,
    pub seed: u64,
}

/// What a run brought.
#[derive(Default)]
pub struct Run {
    /// Requests of the second half, in milliseconds.
    pub latencies: Vec<f64>,
    /// When each call of the run began.
    pub calls: u64,
    pub hedges: u64,
    /// The greatest `hedges - ratio * primaries` of any interval, in tenths of a token.
    pub worst_use: i64,
    /// Calls and hedges of the second half, in the order they happened. Kept only when asked for.
    pub timeline: Vec<(Nanos, Happening)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    Call,
    Hedge,
}

struct Request {
    began: Nanos,
    pending: u32,
}

/// Drives the source through the whole of a scenario, until nothing is pending any more.
pub fn simulate(scenario: &Scenario<'_>, keep_timeline: bool) -> Run {
    let mut source = Source::new(SourceOptions {
        seed: scenario.seed,
        ..scenario.options.clone()
    })
    .expect("valid options");
    let mut random = fastrand::Rng::with_seed(scenario.seed);
    let mut run = Run::default();
    let mut budget_use = 0_i64;
    let mut settlements: BinaryHeap<Reverse<(Nanos, u64, u32)>> = BinaryHeap::new();
    // By the operation's place: its request, and the call's own random number.
    let mut operations: Vec<(u32, u64)> = Vec::new();
    let mut requests: Vec<Request> = Vec::new();
    let mut free: Vec<u32> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let plan = source.plan(None);
    let half = scenario.length / 2;
    let mut arrival = wait(&mut random, scenario.rate);

    loop {
        let settlement = settlements.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
        let timer = source.next_due().unwrap_or(Nanos::MAX);
        let now = arrival.min(settlement).min(timer);
        if now == Nanos::MAX {
            break;
        }
        if now == settlement {
            let Reverse((_, op, attempt)) = settlements.pop().expect("peeked");
            source.settled(OpId::from_number(op), attempt, Outcome::Ok, now, &mut steps);
        } else if now == timer {
            source.advance(now, &mut steps);
        } else {
            let number = free.pop().unwrap_or_else(|| {
                requests.push(Request { began: 0, pending: 0 });
                u32::try_from(requests.len() - 1).expect("few at once")
            });
            requests[number as usize] = Request {
                began: now,
                pending: scenario.fan_out,
            };
            for _ in 0..scenario.fan_out {
                let from = steps.len();
                let op = source.start(&Call::new(plan), now, &mut steps);
                let slot = op.slot() as usize;
                if slot >= operations.len() {
                    operations.resize(slot + 1, (0, 0));
                }
                operations[slot] = (number, random.u64(..));
                debug_assert!(steps[from..].iter().any(|step| step.op == op));
            }
            arrival = now + wait(&mut random, scenario.rate);
            if arrival >= scenario.length {
                arrival = Nanos::MAX;
            }
        }
        for step in steps.drain(..) {
            match step.action {
                Action::Start { attempt, kind, .. } => {
                    let (_, call) = operations[step.op.slot() as usize];
                    let ms = (scenario.latency)(&mut random, call, now);
                    let at = now + nanos(ms);
                    settlements.push(Reverse((at, step.op.number(), attempt)));
                    let hedge = kind == AttemptKind::Hedge;
                    run.hedges += u64::from(hedge);
                    run.calls += u64::from(!hedge);
                    budget_use = (budget_use + if hedge { 10 } else { -1 }).max(0);
                    run.worst_use = run.worst_use.max(budget_use);
                    if keep_timeline && now >= half {
                        let what = if hedge { Happening::Hedge } else { Happening::Call };
                        run.timeline.push((now, what));
                    }
                }
                Action::Resolve { .. } => {
                    let (number, _) = operations[step.op.slot() as usize];
                    let request = &mut requests[number as usize];
                    request.pending -= 1;
                    if request.pending == 0 {
                        if request.began >= half {
                            run.latencies.push(millis(now - request.began));
                        }
                        free.push(number);
                    }
                }
                Action::Tell(_) | Action::Cancel { .. } => {}
                Action::AskGate | Action::Reject(_) => unreachable!("no gate and no failure here"),
            }
        }
    }
    assert_eq!((source.pending(), source.timers()), (0, 0), "nothing is left over");
    run
}

/// The time to the next of Poisson's arrivals.
fn wait(random: &mut fastrand::Rng, rate: f64) -> Nanos {
    nanos(-(1.0 - random.f64()).ln() / rate * 1_000.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and far below the age of the universe"
)]
fn nanos(ms: f64) -> Nanos {
    (ms * MS) as Nanos
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn millis(nanos: Nanos) -> f64 {
    nanos as f64 / MS
}
