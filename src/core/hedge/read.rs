//! The hedge of a cache read: when to ask, and whether the source may be started beside the read.
//!
//! Which result wins is the chain's business. This is what the reads of one use case share: the delay
//! and the budget. Its primaries are leaders' reads, its hedges sources that are started while a read
//! is under way.

use super::super::Nanos;
use super::super::error::OptionError;
use super::budget::{DEFAULT_BURST, HedgeBudget, Ratio};
use super::window::{LatencyWindow, WindowOptions};

/// `"auto"`: later than this part of the reads.
const AUTO_QUANTILE: f64 = 0.95;

const MS: f64 = 1e6;

/// `readHedge.delayMs` as it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadDelay {
    /// Milliseconds.
    Fixed(f64),
    /// The 95th percentile of this use case's read times.
    Auto,
}

/// The read hedge of one use case.
#[derive(Debug)]
pub struct ReadHedge {
    delay: Delay,
    read_timeout: Nanos,
    budget: HedgeBudget,
}

#[derive(Debug)]
enum Delay {
    Fixed(Nanos),
    Auto(Box<LatencyWindow>),
}

impl ReadHedge {
    /// A read hedge whose delay must be above 0 and below `read_timeout_ms`, the use case's effective
    /// read deadline.
    ///
    /// # Errors
    /// When a fixed delay is not.
    pub fn new(delay: ReadDelay, read_timeout_ms: u32) -> Result<Self, OptionError> {
        const OPTION: &str = "readHedge.delayMs";
        let limit_ms = f64::from(read_timeout_ms);
        let delay = match delay {
            ReadDelay::Fixed(value) if !(value.is_finite() && value > 0.0) => {
                return Err(OptionError::OutOfRange {
                    option: OPTION,
                    rule: "\"auto\" or a number above 0",
                    value,
                });
            }
            ReadDelay::Fixed(value) if value >= limit_ms => {
                return Err(OptionError::BeyondLimit {
                    option: OPTION,
                    limit: "the read deadline",
                    limit_ms,
                    value,
                });
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "above 0 and below 2^32 milliseconds"
            )]
            ReadDelay::Fixed(value) => Delay::Fixed(((value * MS) as Nanos).max(1)),
            ReadDelay::Auto => Delay::Auto(Box::new(LatencyWindow::new(WindowOptions::new(AUTO_QUANTILE)))),
        };
        Ok(Self {
            delay,
            read_timeout: u64::from(read_timeout_ms) * 1_000_000,
            budget: HedgeBudget::new(Ratio::default(), DEFAULT_BURST),
        })
    }

    /// A leader's read begins. Answers after how long to [ask](Self::ask) for a hedge; `None`: not at
    /// all, because too few reads are known yet, or because so late a hedge would find the read at its
    /// deadline.
    pub fn begin(&mut self, now: Nanos) -> Option<Nanos> {
        self.budget.deposit();
        self.delay(now)
    }

    /// The delay is over and the read still pending: whether the source may start beside it.
    pub const fn ask(&mut self) -> bool {
        self.budget.withdraw()
    }

    /// A leader's read is over: its duration, or its age when it was given up. Once for each read,
    /// also for one that nobody waits for any more.
    pub fn read_over(&mut self, duration: Nanos, now: Nanos) {
        if let Delay::Auto(window) = &mut self.delay {
            window.record(duration, now);
        }
    }

    /// After how long a read that begins now would be hedged.
    pub fn delay(&mut self, now: Nanos) -> Option<Nanos> {
        let delay = match &mut self.delay {
            Delay::Fixed(delay) => Some(*delay),
            Delay::Auto(window) => window.quantile(now),
        };
        delay.filter(|delay| *delay < self.read_timeout)
    }

    /// How many hedges could start now.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.budget.tokens()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn hedge(delay: ReadDelay) -> ReadHedge {
        ReadHedge::new(delay, 200).expect("a valid delay")
    }

    #[test]
    fn a_fixed_delay_is_used_from_the_first_read_on() {
        let mut hedge = hedge(ReadDelay::Fixed(20.0));
        assert_eq!(hedge.begin(0), Some(20 * MS));
    }

    #[test]
    fn auto_is_the_95th_percentile_of_100_reads_and_nothing_before() {
        let mut hedge = hedge(ReadDelay::Auto);
        for n in 1..=100 {
            assert_eq!(hedge.begin(0), None);
            hedge.read_over(n * MS, 0);
        }
        let delay = hedge.begin(0).expect("100 samples");
        assert!(delay.abs_diff(95 * MS) <= MS, "{delay}");
        assert_eq!(hedge.begin(61_000 * MS), None, "idle is cold");
    }

    #[test]
    fn auto_is_never_below_a_millisecond_nor_at_the_deadline() {
        let mut fast = hedge(ReadDelay::Auto);
        let mut dead = hedge(ReadDelay::Auto);
        for _ in 0..100 {
            fast.read_over(5_000, 0);
            dead.read_over(200 * MS, 0);
        }
        assert_eq!(fast.begin(0), Some(MS));
        let mut tight = ReadHedge::new(ReadDelay::Auto, 1).expect("a deadline of a millisecond");
        (0..100).for_each(|_| tight.read_over(5_000, 0));
        assert_eq!(tight.begin(0), None, "the floor is the deadline");
        assert_eq!(dead.begin(0), None);
    }

    #[test]
    fn ten_in_a_burst_and_one_in_ten_reads_from_then_on() {
        let mut hedge = hedge(ReadDelay::Fixed(20.0));
        assert!((hedge.tokens() - 10.0).abs() < f64::EPSILON);
        assert_eq!((0..50).filter(|_| hedge.ask()).count(), 10);
        let granted = (0..1_000).filter(|_| {
            hedge.begin(0);
            hedge.ask()
        });
        assert_eq!(granted.count(), 100);
        assert!(hedge.tokens() < 1.0);
    }

    #[test]
    fn a_delay_that_is_nothing_or_reaches_the_deadline_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 200.0, 5_000.0] {
            let error = ReadHedge::new(ReadDelay::Fixed(bad), 200)
                .expect_err("refused")
                .to_string();
            assert!(
                error.contains("readHedge.delayMs") && error.contains(&bad.to_string()),
                "{error}"
            );
        }
        assert!(ReadHedge::new(ReadDelay::Fixed(199.9), 200).is_ok());
    }
}
