//! What is simulated, and what came of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dialcache_native::core::Nanos;

use crate::optimum::{self, Reissue};
use crate::policy::{BURST, Policy, RATIO};
use crate::simulate::{Happening, Run, SECOND, Scenario, simulate};
use crate::workload::{Latency, W1, W3};

/// How much is simulated.
#[derive(Clone, Copy)]
pub struct Scale {
    length: Nanos,
    seeds: u64,
    /// Requests of 100 leaves are dear: fewer runs of them.
    request_seeds: u64,
}

impl Scale {
    pub const FULL: Self = Self {
        length: 300 * SECOND,
        seeds: 5,
        request_seeds: 1,
    };
    pub const SMOKE: Self = Self {
        length: SECOND,
        seeds: 1,
        request_seeds: 1,
    };
}

const RATE: f64 = 1_000.0;
const FAN_OUT: u32 = 100;
/// The part of the calls that a quantile leaves above itself.
pub const P99: f64 = 0.01;
pub const P999: f64 = 0.001;

/// One policy on one workload, over all seeds.
pub struct Row {
    pub workload: &'static str,
    pub policy: &'static str,
    /// Milliseconds, sorted; empty for the optimum, which is computed.
    pub latencies: Vec<f64>,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// Hedges for each call.
    pub extra_load: f64,
    /// The greatest `hedges - ratio * primaries` of any interval, in tokens: at most the burst. `None` for the
    /// optimum, which has no budget to keep but on average.
    pub worst_use: Option<f64>,
    /// The greatest share of hedges of any one seed's run.
    pub max_share: f64,
    /// What the budget allows in that run.
    pub allowed_share: f64,
    /// To the optimum's p99 and p99.9.
    pub ratios: Option<(f64, f64)>,
}

/// A computed optimum, for the plot.
pub struct Best {
    pub workload: &'static str,
    pub latency: Box<dyn Latency>,
    pub p99: Reissue,
}

/// Everything that came out.
pub struct Report {
    pub rows: Vec<Row>,
    pub optima: Vec<Best>,
    /// The greatest share of hedges in any second after latency tripled at once.
    pub step_share: f64,
}

struct Job {
    workload: &'static str,
    policy: Policy,
    fan_out: u32,
    seed: u64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Each attempt by itself.
    Independent,
    /// Half of the calls take ten times as long in each of their attempts: hedging them is in vain.
    Inherent,
    /// From the middle on, three times as long.
    Step,
}

/// Runs all scenarios, on as many threads as there are cores.
pub fn run(scale: Scale) -> Report {
    let (w1, w3) = (W1::new(), W3);
    let jobs = jobs(scale);
    let results = in_parallel(&jobs, |job| {
        let latency = |random: &mut fastrand::Rng, call: u64, now: Nanos| {
            let factor = match job.kind {
                Kind::Inherent if call % 2 == 0 => 10.0,
                Kind::Step if now >= scale.length / 2 => 3.0,
                _ => 1.0,
            };
            factor
                * if job.workload.starts_with("W3") {
                    w3.draw(random)
                } else {
                    w1.draw(random)
                }
        };
        let scenario = Scenario {
            options: job.policy.options(),
            latency: &latency,
            rate: RATE,
            fan_out: job.fan_out,
            length: scale.length,
            seed: job.seed,
        };
        simulate(&scenario, job.kind == Kind::Step)
    });
    assemble(&jobs, results)
}

fn jobs(scale: Scale) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut add = |workload, policy, fan_out, seeds, kind| {
        jobs.extend((1..=seeds).map(|seed| Job {
            workload,
            policy,
            fan_out,
            seed,
            kind,
        }));
    };
    // The longest first, so that no core is left alone with one of them.
    for policy in Policy::ALL {
        add("W3 request", policy, FAN_OUT, scale.request_seeds, Kind::Independent);
    }
    for workload in ["W1", "W3 leaf"] {
        for policy in Policy::ALL {
            add(workload, policy, 1, scale.seeds, Kind::Independent);
        }
    }
    add("half slow", Policy::None, 1, scale.seeds, Kind::Inherent);
    add("half slow", Policy::Auto, 1, scale.seeds, Kind::Inherent);
    add("latency x3", Policy::Auto, 1, scale.seeds, Kind::Step);
    jobs
}

fn in_parallel(jobs: &[Job], work: impl Fn(&Job) -> Run + Sync) -> Vec<Run> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Run)>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    let run = work(job.1);
                    results
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((job.0, run));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, run)| run).collect()
}

fn assemble(jobs: &[Job], results: Vec<Run>) -> Report {
    let mut report = Report {
        rows: Vec::new(),
        optima: Vec::new(),
        step_share: 0.0,
    };
    for (job, mut run) in jobs.iter().zip(results) {
        report.step_share = report.step_share.max(worst_second(&run.timeline));
        let share = part(run.hedges, run.calls);
        let allowed = RATIO + f64::from(BURST) / count(run.calls);
        let used = tenths(run.worst_use);
        match report.rows.last_mut() {
            Some(row) if row.workload == job.workload && row.policy == job.policy.name() => {
                row.latencies.append(&mut run.latencies);
                row.worst_use = row.worst_use.map(|worst| worst.max(used));
                if share > row.max_share {
                    (row.max_share, row.allowed_share) = (share, allowed);
                }
                row.extra_load += share;
            }
            _ => report.rows.push(Row {
                workload: job.workload,
                policy: job.policy.name(),
                latencies: run.latencies,
                p50: 0.0,
                p99: 0.0,
                p999: 0.0,
                extra_load: share,
                worst_use: Some(used),
                max_share: share,
                allowed_share: allowed,
                ratios: None,
            }),
        }
    }
    for row in &mut report.rows {
        let runs = jobs
            .iter()
            .filter(|job| job.workload == row.workload && job.policy.name() == row.policy);
        row.extra_load /= count(runs.count() as u64);
        row.latencies.sort_by(f64::total_cmp);
        row.p50 = at(&row.latencies, 0.5);
        row.p99 = at(&row.latencies, P99);
        row.p999 = at(&row.latencies, P999);
    }
    add_optimum(&mut report, "W1", || Box::new(W1::new()), 1);
    add_optimum(&mut report, "W3 leaf", || Box::new(W3), 1);
    add_optimum(&mut report, "W3 request", || Box::new(W3), FAN_OUT);
    report
}

/// Computes a workload's optimum, puts it below its rows, and the rows into relation to it.
fn add_optimum(report: &mut Report, workload: &'static str, latency: impl Fn() -> Box<dyn Latency>, fan_out: u32) {
    let latency = latency();
    // All leaves within t: each must be, with this probability of not being.
    let of_leaf = |tail: f64| -f64::exp_m1(f64::ln_1p(-tail) / f64::from(fan_out));
    let best = |tail| optimum::optimum(latency.as_ref(), of_leaf(tail), RATIO);
    let (p99, p999) = (best(P99), best(P999));
    let exceeds = |ms| optimum::exceeds(latency.as_ref(), p99.delay, p99.probability, ms);
    let rows = report.rows.iter_mut().filter(|row| row.workload == workload);
    for row in rows {
        row.ratios = Some((row.p99 / p99.ms, row.p999 / p999.ms));
    }
    let after = report.rows.iter().rposition(|row| row.workload == workload);
    let row = Row {
        workload,
        policy: "optimum",
        latencies: Vec::new(),
        p50: optimum::quantile(exceeds, of_leaf(0.5)),
        p99: p99.ms,
        p999: p999.ms,
        extra_load: p99.load.max(p999.load),
        worst_use: None,
        max_share: 0.0,
        allowed_share: RATIO,
        ratios: Some((1.0, 1.0)),
    };
    report.rows.insert(after.map_or(0, |index| index + 1), row);
    report.optima.push(Best { workload, latency, p99 });
}

/// Where a part of `tail` of the sorted samples lies above.
fn at(sorted: &[f64], tail: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a length"
    )]
    let above = (count(sorted.len() as u64) * tail) as usize;
    sorted
        .get((sorted.len() - above).saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

/// The greatest share of hedges in any whole second of the timeline, wherever it begins.
fn worst_second(timeline: &[(Nanos, Happening)]) -> f64 {
    let Some((last, _)) = timeline.last() else {
        return 0.0;
    };
    let (mut worst, mut end, mut calls, mut hedges) = (0.0_f64, 0, 0, 0);
    for (begin, what) in timeline {
        if begin + SECOND > *last {
            break;
        }
        while let Some((at, what)) = timeline.get(end)
            && *at < begin + SECOND
        {
            calls += u64::from(*what == Happening::Call);
            hedges += u64::from(*what == Happening::Hedge);
            end += 1;
        }
        worst = worst.max(part(hedges, calls));
        calls -= u64::from(*what == Happening::Call);
        hedges -= u64::from(*what == Happening::Hedge);
    }
    worst
}

fn part(of: u64, all: u64) -> f64 {
    count(of) / count(all)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn tenths(number: i64) -> f64 {
    number as f64 / 10.0
}
