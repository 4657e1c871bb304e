//! How many hedges the calls so far have earned.
//!
//! A token bucket in integers. Each primary deposits `ratio` of a token, each hedge withdraws a whole
//! one, and no more than `burst` tokens are ever kept. So in *every* interval
//! `hedges <= burst + ratio * primaries`: what an interval starts with is at most the burst, and what
//! is added during it is exactly the ratio. In floating point, or with the ratio turned into "one in
//! n", a budget of 15 % becomes one of 16.7 %.

use super::super::error::OptionError;

/// Units of a token. A ratio of up to nine decimals is exact; any other is rounded down.
const TOKEN: u64 = 1_000_000_000;

/// The greatest ratio of hedges to primaries. Beyond it a slow origin gets noticeably more work just
/// when it can do less.
pub const MAX_RATIO: f64 = 0.15;

/// The ratio of hedges to primaries unless one is named.
pub const DEFAULT_RATIO: f64 = 0.10;

/// How many hedges can be saved up unless a number is named.
pub const DEFAULT_BURST: u32 = 10;

/// A ratio of hedges to primaries: above 0, at most [`MAX_RATIO`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio(u64);

impl Ratio {
    /// Checks a ratio; `option` names it in the error.
    ///
    /// # Errors
    /// When it is not a number above 0 and at most [`MAX_RATIO`].
    pub fn new(option: &'static str, ratio: f64) -> Result<Self, OptionError> {
        if !(ratio > 0.0 && ratio <= MAX_RATIO) {
            return Err(OptionError::OutOfRange {
                option,
                rule: "a number above 0 and at most 0.15",
                value: ratio,
            });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "above 0 and at most 0.15 of a token"
        )]
        let units = (ratio * UNITS).round() as u64;
        let above = as_tokens(units) > ratio;
        Ok(Self(units - u64::from(above)))
    }

    /// The ratio as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        as_tokens(self.0)
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self(TOKEN / 10)
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const UNITS: f64 = TOKEN as f64;

/// Exact for whole units below 2^53, which is burst 9,000,000.
#[expect(clippy::cast_precision_loss, reason = "a figure to look at, or a ratio below 2^53")]
fn as_tokens(units: u64) -> f64 {
    units as f64 / UNITS
}

/// The tokens of one source, or of one use case's reads.
#[derive(Clone, Debug)]
pub struct HedgeBudget {
    deposit: u64,
    capacity: u64,
    level: u64,
}

impl HedgeBudget {
    /// A full budget.
    #[must_use]
    pub fn new(ratio: Ratio, burst: u32) -> Self {
        let capacity = u64::from(burst) * TOKEN;
        Self {
            deposit: ratio.0,
            capacity,
            level: capacity,
        }
    }

    /// A primary has started.
    pub fn deposit(&mut self) {
        self.level = (self.level + self.deposit).min(self.capacity);
    }

    /// Whether a hedge could start now.
    #[must_use]
    pub const fn can_withdraw(&self) -> bool {
        self.level >= TOKEN
    }

    /// Takes the token of one hedge. False when there is none: the hedge must not start.
    pub const fn withdraw(&mut self) -> bool {
        let granted = self.can_withdraw();
        if granted {
            self.level -= TOKEN;
        }
        granted
    }

    /// How full it is, from 0 to 1.
    #[must_use]
    pub fn fullness(&self) -> f64 {
        as_tokens(self.level) / as_tokens(self.capacity)
    }

    /// How many hedges could start now, with the part of a token that is left.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        as_tokens(self.level)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ratio(ratio: f64) -> Ratio {
        Ratio::new("ratio", ratio).expect("a valid ratio")
    }

    fn emptied(of: f64, burst: u32) -> HedgeBudget {
        let mut budget = HedgeBudget::new(ratio(of), burst);
        while budget.withdraw() {}
        budget
    }

    #[test]
    fn a_hundred_deposits_at_15_percent_give_15() {
        for (of, given) in [(0.15, 15), (0.1, 10), (0.07, 7), (0.01, 1), (0.03, 3)] {
            let mut budget = emptied(of, 1_000);
            for _ in 0..100 {
                budget.deposit();
            }
            let granted = (0..1_000).filter(|_| budget.withdraw()).count();
            assert_eq!(granted, given, "{of}");
        }
    }

    #[test]
    fn a_million_deposits_lose_nothing() {
        let mut budget = emptied(0.15, 1_000_000);
        (0..1_000_000).for_each(|_| budget.deposit());
        assert_eq!(budget.level, 150_000 * TOKEN);
    }

    #[test]
    fn it_starts_full_and_keeps_no_more_than_the_burst() {
        let mut budget = HedgeBudget::new(ratio(0.1), 3);
        assert!((budget.tokens() - 3.0).abs() < f64::EPSILON);
        (0..100).for_each(|_| budget.deposit());
        assert_eq!((0..100).filter(|_| budget.withdraw()).count(), 3);
    }

    #[test]
    fn its_fullness_is_the_share_of_the_burst_that_is_left() {
        let mut budget = HedgeBudget::new(ratio(0.1), 4);
        let mut shares = vec![budget.fullness()];
        while budget.withdraw() {
            shares.push(budget.fullness());
        }
        assert_eq!(shares, [1.0, 0.75, 0.5, 0.25, 0.0]);
    }

    #[test]
    fn a_ratio_out_of_range_is_refused_by_name_and_value() {
        for bad in [0.0, -0.1, 0.150_000_000_1, 0.6, f64::NAN, f64::INFINITY] {
            let error = Ratio::new("hedge.budget.ratio", bad)
                .expect_err("out of range")
                .to_string();
            assert!(
                error.contains("hedge.budget.ratio") && error.contains(&bad.to_string()),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn in_every_interval_hedges_stay_within_burst_and_ratio(
            of in 0.000_001..=MAX_RATIO,
            burst in 1_u32..20,
            asked in prop::collection::vec(any::<bool>(), 1..400),
        ) {
            let ratio = ratio(of);
            prop_assert!(ratio.get() <= of && ratio.get() > of - 1e-9, "rounded down, to nine decimals");
            let mut budget = HedgeBudget::new(ratio, burst);
            // Each step's part in hedges - ratio * primaries, in units.
            let steps: Vec<i64> = asked
                .into_iter()
                .map(|asks| {
                    if !asks {
                        budget.deposit();
                        return -i64::try_from(ratio.0).expect("small");
                    }
                    i64::try_from(TOKEN).expect("small") * i64::from(budget.withdraw())
                })
                .collect();
            let limit = i64::from(burst) * i64::try_from(TOKEN).expect("small");
            for start in 0..steps.len() {
                let mut used = 0;
                for step in &steps[start..] {
                    used += step;
                    prop_assert!(used <= limit);
                }
            }
        }
    }
}
