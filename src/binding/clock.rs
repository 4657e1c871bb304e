//! Where the engine's time comes from.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::core::Nanos;

const NANOS_PER_MS: f64 = 1_000_000.0;

/// The monotonic clock of an engine, or the one a test installed in its place.
pub struct Clock {
    epoch: Instant,
    installed: Option<Cell<Nanos>>,
}

impl Clock {
    /// A clock whose zero is `epoch`; an `installed` one stands still until it is set.
    pub const fn new(epoch: Instant, installed: bool) -> Self {
        let installed = if installed { Some(Cell::new(0)) } else { None };
        Self { epoch, installed }
    }

    /// Now.
    pub fn now(&self) -> Nanos {
        match &self.installed {
            Some(now) => now.get(),
            None => self.at(Instant::now()),
        }
    }

    /// When something happened that another thread stamped. An installed clock knows no such
    /// instants: for it, things happen when they are told.
    pub fn at(&self, instant: Instant) -> Nanos {
        match &self.installed {
            Some(now) => now.get(),
            None => nanos(instant.saturating_duration_since(self.epoch)),
        }
    }

    /// The instant of a time of this clock; `None` when the clock is an installed one.
    pub fn instant(&self, at: Nanos) -> Option<Instant> {
        match self.installed {
            Some(_) => None,
            None => self.epoch.checked_add(Duration::from_nanos(at)),
        }
    }

    /// Sets an installed clock to `ms` milliseconds.
    pub fn set(&self, ms: f64) {
        if let Some(now) = &self.installed {
            now.set(from_ms(ms));
        }
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// Fractional milliseconds as nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and a clock below zero starts at zero"
)]
pub fn from_ms(ms: f64) -> Nanos {
    (ms * NANOS_PER_MS).round() as Nanos
}

/// Milliseconds until `at`, rounded up so that a timer set for them does not fire early.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a timer, far below 2^53")]
pub fn ms_until(at: Nanos, now: Nanos) -> f64 {
    (at.saturating_sub(now) as f64 / NANOS_PER_MS).ceil()
}

/// Nanoseconds as fractional milliseconds.
#[expect(clippy::cast_precision_loss, reason = "an age for people to read")]
pub fn as_ms(nanos: Nanos) -> f64 {
    nanos as f64 / NANOS_PER_MS
}
