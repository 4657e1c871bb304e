//! The best that one reissue can do: Kaler, He and Elnikety, "Optimal Reissue Policies for Reducing Tail
//! Latency" (SPAA 2017).
//!
//! For independent latencies a single reissue at delay `d`, with probability `q`, is optimal:
//! `P(L > t) = S(t) (1 - q + q S(t - d))`. So `d` is searched, `q` is what the budget `q S(d) <= b`
//! allows, and `t` follows from the quantile by bisection.

use crate::workload::Latency;

/// A reissue policy and what it reaches.
#[derive(Clone, Copy, Debug)]
pub struct Reissue {
    /// Milliseconds after which one in `1 / q` calls is reissued.
    pub delay: f64,
    /// With this probability.
    pub probability: f64,
    /// The latency at the quantile it was made for, in milliseconds.
    pub ms: f64,
    /// Reissues for each call.
    pub load: f64,
}

/// The least latency that a part of `tail` of the calls exceeds, when at most `budget` of them are reissued.
pub fn optimum(latency: &dyn Latency, tail: f64, budget: f64) -> Reissue {
    let longest = quantile(|ms| latency.survival(ms), tail);
    let at = |delay: f64| reissue(latency, delay, tail, budget);
    // On doubly logarithmic paper everything is smooth: a coarse grid, then finer ones around its best.
    let (mut low, mut high) = ((longest / 1e4).ln(), longest.ln());
    let mut best = at(longest);
    for _ in 0..4 {
        let step = (high - low) / STEPS;
        for n in 0..=200_u32 {
            let candidate = at((low + step * f64::from(n)).exp());
            if candidate.ms < best.ms {
                best = candidate;
            }
        }
        (low, high) = (best.delay.ln() - step, best.delay.ln() + step);
    }
    best
}

const STEPS: f64 = 200.0;

fn reissue(latency: &dyn Latency, delay: f64, tail: f64, budget: f64) -> Reissue {
    let late = latency.survival(delay);
    let probability = (budget / late).min(1.0);
    Reissue {
        delay,
        probability,
        ms: quantile(|ms| exceeds(latency, delay, probability, ms), tail),
        load: probability * late,
    }
}

/// The probability that a call with this reissue takes more than `ms`.
pub fn exceeds(latency: &dyn Latency, delay: f64, probability: f64, ms: f64) -> f64 {
    let hedged = if ms > delay { latency.survival(ms - delay) } else { 1.0 };
    latency.survival(ms) * (1.0 - probability + probability * hedged)
}

/// Where a falling function comes down to `tail`.
pub fn quantile(survival: impl Fn(f64) -> f64, tail: f64) -> f64 {
    let (mut low, mut high) = (1e-3_f64, 1e6_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if survival(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
