//! How long calls took lately.
//!
//! A histogram of the last minute, in slices: when a slice has passed, its samples are taken out
//! again. `HdrHistogram` for the buckets, as in tower and Finagle.
//!
//! What is recorded decides what is learned. One sample for each call: the primary's duration, or its
//! age when it was cancelled. Samples of winners only would make each hedge that wins look like a fast
//! primary, the delay would drift down, and twice as many calls as wanted would be hedged. An age is
//! less than the duration would have been, but it is above the delay, and so it stands on the right
//! side of the quantile.

use hdrhistogram::Histogram;

use super::super::Nanos;

const MICRO: u64 = 1_000;
/// Samples above an hour count as an hour.
const LONGEST_US: u64 = 3_600_000_000;
/// Decimal digits kept of a sample: at most 1 % off, in a few kilobytes.
const DIGITS: u8 = 2;
const SLICES: usize = 6;
/// The quantile is looked up again after this part of the samples is new.
const STALE_PART: u64 = 64;
/// ... but not before so many are.
const STALE_MIN: u64 = 8;

/// What a window is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowOptions {
    /// How far back it sees. Default: 60 s.
    pub length: Nanos,
    /// With fewer samples it says nothing. Default: 100.
    pub min_samples: u64,
    /// Which quantile it tells, between 0 and 1.
    pub quantile: f64,
    /// It tells no less than this. Default: 1 ms.
    pub floor: Nanos,
}

impl WindowOptions {
    /// The defaults, for one quantile.
    #[must_use]
    pub const fn new(quantile: f64) -> Self {
        Self {
            length: 60_000_000_000,
            min_samples: 100,
            quantile,
            floor: 1_000_000,
        }
    }
}

/// The latencies of the last while.
#[derive(Debug)]
pub struct LatencyWindow {
    options: WindowOptions,
    slice_length: Nanos,
    slices: [Histogram<u32>; SLICES],
    all: Histogram<u32>,
    /// Number of the slice that samples go to, counted from the clock's zero.
    current: u64,
    known: Known,
}

/// The quantile as it was looked up last.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    quantile: Option<Nanos>,
    samples: u64,
    new: u64,
    stale: bool,
}

impl LatencyWindow {
    /// An empty window.
    #[must_use]
    pub fn new(options: WindowOptions) -> Self {
        Self {
            options,
            slice_length: (options.length / SLICES as u64).max(1),
            slices: std::array::from_fn(|_| histogram()),
            all: histogram(),
            current: 0,
            known: Known::default(),
        }
    }

    /// A call took this long, or was this old when it was cancelled.
    pub fn record(&mut self, duration: Nanos, now: Nanos) {
        self.turn_to(now);
        let micros = duration.div_ceil(MICRO).min(LONGEST_US);
        let slice = self.slot(self.current);
        // Cannot fail: they grow with what they are given.
        let kept = self.slices[slice].record(micros).and_then(|()| self.all.record(micros));
        debug_assert!(kept.is_ok());
        self.known.new += 1;
    }

    /// The quantile, at least the floor. `None` while there are too few samples: nobody called yet, or
    /// not lately.
    pub fn quantile(&mut self, now: Nanos) -> Option<Nanos> {
        self.turn_to(now);
        let due = STALE_MIN.max(self.known.samples / STALE_PART);
        // The first answer comes with the very sample that makes it possible.
        let first = self.known.quantile.is_none() && self.all.len() >= self.options.min_samples;
        if self.known.stale || first || self.known.new >= due {
            self.look_up();
        }
        self.known.quantile
    }

    /// How many samples are in the window.
    pub fn samples(&mut self, now: Nanos) -> u64 {
        self.turn_to(now);
        self.all.len()
    }

    fn look_up(&mut self) {
        let samples = self.all.len();
        let quantile = (samples >= self.options.min_samples).then(|| {
            let micros = self.all.value_at_quantile(self.options.quantile);
            (self.all.median_equivalent(micros) * MICRO).max(self.options.floor)
        });
        self.known = Known {
            quantile,
            samples,
            new: 0,
            stale: false,
        };
    }

    /// Takes out the slices that have passed.
    fn turn_to(&mut self, now: Nanos) {
        let wanted = now / self.slice_length;
        if wanted <= self.current {
            return;
        }
        let passed = (wanted - self.current).min(SLICES as u64);
        for number in wanted + 1 - passed..=wanted {
            let slot = self.slot(number);
            let slice = &mut self.slices[slot];
            if !slice.is_empty() {
                // Cannot fail: what is taken out was put in.
                if self.all.subtract(&*slice).is_err() {
                    self.all.reset();
                }
                slice.reset();
                self.known.stale = true;
            }
        }
        self.current = wanted;
    }

    #[expect(clippy::cast_possible_truncation, reason = "below SLICES")]
    #[expect(clippy::unused_self, reason = "reads better at the call")]
    const fn slot(&self, number: u64) -> usize {
        (number % SLICES as u64) as usize
    }
}

fn histogram() -> Histogram<u32> {
    let mut histogram = Histogram::new(DIGITS).expect("0 to 5 digits");
    histogram.auto(true);
    histogram
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Nanos = 1_000_000;
    const SECOND: Nanos = 1_000 * MS;

    fn window(min_samples: u64, quantile: f64) -> LatencyWindow {
        LatencyWindow::new(WindowOptions {
            min_samples,
            ..WindowOptions::new(quantile)
        })
    }

    fn near(told: Option<Nanos>, expected: Nanos) -> bool {
        told.is_some_and(|told| told.abs_diff(expected) <= expected / 100)
    }

    #[test]
    fn it_tells_nothing_before_the_last_sample_it_needs() {
        let mut window = window(100, 0.9);
        for n in 1..=99 {
            window.record(n * MS, 0);
            assert_eq!(window.quantile(0), None);
        }
        window.record(100 * MS, 0);
        assert!(near(window.quantile(0), 90 * MS), "{:?}", window.quantile(0));
    }

    #[test]
    fn it_tells_the_quantile_it_was_asked_for() {
        for (quantile, ms) in [(0.5, 50), (0.9, 90), (0.95, 95), (0.99, 99)] {
            let mut window = window(100, quantile);
            (1..=100).for_each(|n| window.record(n * MS, 0));
            assert!(near(window.quantile(0), ms * MS), "{quantile}");
        }
    }

    /// Looking it up costs more than a call may.
    #[test]
    fn it_is_looked_up_again_when_enough_samples_are_new() {
        for (old, due) in [(1, 8), (512, 8), (640, 10), (1_280, 20)] {
            let mut window = window(1, 0.99);
            (0..old).for_each(|_| window.record(10 * MS, 0));
            assert!(near(window.quantile(0), 10 * MS));
            for new in 1..=due {
                // Often enough to be the slowest hundredth.
                window.record(100 * MS, 0);
                let told = window.quantile(0);
                let expected = if new < due { 10 } else { 100 };
                assert!(near(told, expected * MS), "{old} and {new}: {told:?}");
            }
        }
    }

    #[test]
    fn fast_calls_do_not_make_a_delay_of_nothing() {
        let mut window = window(100, 0.9);
        (0..1_000).for_each(|_| window.record(0, 0));
        assert_eq!(window.quantile(0), Some(MS));
        let mut lower = LatencyWindow::new(WindowOptions {
            floor: 5,
            ..WindowOptions::new(0.9)
        });
        (0..1_000).for_each(|_| lower.record(1, 0));
        assert_eq!(lower.quantile(0), Some(MICRO), "to the microsecond, never 0");
    }

    #[test]
    fn idle_is_cold_again() {
        let mut window = window(100, 0.9);
        (0..200).for_each(|_| window.record(7 * MS, 5 * SECOND));
        assert!(near(window.quantile(59 * SECOND), 7 * MS));
        assert_eq!(window.quantile(60 * SECOND), None, "the slice of second 5 has passed");
        assert_eq!(window.samples(60 * SECOND), 0);
    }

    #[test]
    fn the_length_of_the_window_is_what_was_asked_for() {
        let mut window = LatencyWindow::new(WindowOptions {
            length: 6 * SECOND,
            ..WindowOptions::new(0.9)
        });
        (0..100).for_each(|_| window.record(7 * MS, 0));
        assert_eq!(window.samples(5 * SECOND), 100);
        assert_eq!(window.samples(6 * SECOND), 0);
    }

    #[test]
    fn old_samples_make_room_for_new_ones() {
        let mut window = window(100, 0.9);
        for second in 0..300 {
            let ms = if second < 150 { 10 } else { 30 };
            (0..50).for_each(|_| window.record(ms * MS, second * SECOND));
        }
        assert_eq!(window.samples(299 * SECOND), 3_000);
        assert!(near(window.quantile(299 * SECOND), 30 * MS));
    }

    #[test]
    fn a_clock_far_ahead_or_a_sample_of_a_year_is_no_trouble() {
        let mut window = window(1, 0.9);
        window.record(u64::MAX, u64::MAX);
        assert!(near(window.quantile(u64::MAX), LONGEST_US * MICRO));
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec((0..4 * SECOND, MS..500 * MS), 1..300),
            quantile in 0.5..0.99_f64,
        ) {
            let mut window = window(5, quantile);
            let mut samples: Vec<(u64, Nanos)> = Vec::new();
            let mut now = 0;
            for (wait, duration) in steps {
                now += wait;
                window.record(duration, now);
                let slice = |at: Nanos| at / (10 * SECOND);
                samples.push((now, duration));
                samples.retain(|(at, _)| slice(*at) + 6 > slice(now));
                prop_assert_eq!(window.samples(now), samples.len() as u64);
            }
            // As one that was never asked before.
            window.known.stale = true;
            let mut sorted: Vec<Nanos> = samples.iter().map(|(_, duration)| *duration).collect();
            sorted.sort_unstable();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small")]
            let rank = ((quantile * sorted.len() as f64).ceil() as usize).max(1);
            let expected = (sorted.len() >= 5).then(|| sorted[rank - 1]);
            let told = window.quantile(now);
            match expected {
                None => prop_assert_eq!(told, None),
                Some(expected) => prop_assert!(near(told, expected), "{told:?} instead of {expected}"),
            }
        }
    }
}
