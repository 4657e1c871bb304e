//! How long to wait before an attempt is repeated.

use super::super::Nanos;
use super::plan::RetryPlan;

/// A random wait between 0 and `base * 2^retries`, at most `max`: exponential with full jitter, so that
/// calls that failed together do not come back together.
pub(super) fn backoff(plan: RetryPlan, retries: u32, random: &mut fastrand::Rng) -> Nanos {
    random.u64(0..=ceiling(plan, retries))
}

fn ceiling(plan: RetryPlan, retries: u32) -> Nanos {
    let factor = 1_u64.checked_shl(retries).unwrap_or(u64::MAX);
    plan.base.saturating_mul(factor).min(plan.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    const PLAN: RetryPlan = RetryPlan {
        base: 50 * MS,
        max: 1_000 * MS,
    };

    #[test]
    fn the_ceiling_doubles_up_to_the_maximum() {
        let ceilings: Vec<_> = (0..7).map(|retries| ceiling(PLAN, retries) / MS).collect();
        assert_eq!(ceilings, [50, 100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(ceiling(PLAN, u32::MAX), PLAN.max);
    }

    #[test]
    fn jitter_spans_the_whole_range() {
        let mut random = fastrand::Rng::with_seed(7);
        let waits: Vec<_> = (0..1_000).map(|_| backoff(PLAN, 1, &mut random)).collect();
        assert!(waits.iter().all(|wait| *wait <= 100 * MS));
        for tenth in 0..10 {
            let band = tenth * 10 * MS..(tenth + 1) * 10 * MS;
            assert!(waits.iter().filter(|wait| band.contains(wait)).count() > 50, "{band:?}");
        }
    }

    #[test]
    fn no_wait_is_a_wait_too() {
        let plan = RetryPlan { base: 0, max: 0 };
        assert_eq!(backoff(plan, 3, &mut fastrand::Rng::with_seed(7)), 0);
    }
}
