//! The latencies of `PERFORMANCE`'s workloads: drawn, and as a survival function.

use std::f64::consts::{SQRT_2, TAU};

/// A distribution of an attempt's latency in milliseconds.
pub trait Latency: Sync {
    /// Draws one.
    fn draw(&self, random: &mut fastrand::Rng) -> f64;
    /// The probability of more than `ms`.
    fn survival(&self, ms: f64) -> f64;
}

/// Lognormal by its mean and deviation; now and then ten times as long.
pub struct W1 {
    mu: f64,
    sigma: f64,
}

const SLOW_PART: f64 = 0.05;
const SLOW_FACTOR: f64 = 10.0;

impl W1 {
    /// Mean 5 ms, deviation 2 ms.
    pub fn new() -> Self {
        let (mean, deviation): (f64, f64) = (5.0, 2.0);
        let variance = (deviation / mean).powi(2).ln_1p();
        Self {
            mu: mean.ln() - variance / 2.0,
            sigma: variance.sqrt(),
        }
    }

    fn fast(&self, ms: f64) -> f64 {
        0.5 * libm::erfc((ms.ln() - self.mu) / (self.sigma * SQRT_2))
    }
}

impl Latency for W1 {
    fn draw(&self, random: &mut fastrand::Rng) -> f64 {
        // Box and Muller.
        let normal = (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos();
        let factor = if random.f64() < SLOW_PART { SLOW_FACTOR } else { 1.0 };
        (self.mu + self.sigma * normal).exp() * factor
    }

    fn survival(&self, ms: f64) -> f64 {
        if ms <= 0.0 {
            return 1.0;
        }
        (1.0 - SLOW_PART) * self.fast(ms) + SLOW_PART * self.fast(ms / SLOW_FACTOR)
    }
}

/// A leaf of "The Tail at Scale": straight lines through these points on doubly logarithmic paper.
pub struct W3;

/// Milliseconds, and the probability of more.
const POINTS: [(f64, f64); 5] = [(0.2, 1.0), (1.0, 0.5), (10.0, 0.02), (68.7, 0.00316), (1_800.0, 1e-5)];

impl W3 {
    /// The survival probability of `log(ms)` on the line through two points, or the other way round.
    fn along(value: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
        from.1 + (value - from.0) * (to.1 - from.1) / (to.0 - from.0)
    }
}

impl Latency for W3 {
    fn draw(&self, random: &mut fastrand::Rng) -> f64 {
        let probability = 1.0 - random.f64();
        // The last line goes on beyond its end.
        let line = POINTS[1..POINTS.len() - 1]
            .iter()
            .position(|(_, survival)| probability >= *survival)
            .unwrap_or(POINTS.len() - 2);
        let turned = |(ms, survival): (f64, f64)| (survival.ln(), ms.ln());
        Self::along(probability.ln(), turned(POINTS[line]), turned(POINTS[line + 1])).exp()
    }

    fn survival(&self, ms: f64) -> f64 {
        if ms <= POINTS[0].0 {
            return 1.0;
        }
        let line = POINTS[1..POINTS.len() - 1]
            .iter()
            .position(|point| ms <= point.0)
            .unwrap_or(POINTS.len() - 2);
        let logs = |(x, y): (f64, f64)| (x.ln(), y.ln());
        Self::along(ms.ln(), logs(POINTS[line]), logs(POINTS[line + 1])).exp()
    }
}
