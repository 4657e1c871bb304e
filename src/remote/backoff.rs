//! How long to wait between connection attempts.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use super::options::Reconnect;

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next wait: full jitter, so that a fleet whose server restarts does not come back at once.
    pub fn next_delay(&mut self, limits: Reconnect) -> Duration {
        let ceiling = ceiling(limits, self.failures);
        self.failures = self.failures.saturating_add(1);
        // A fresh RandomState is randomly seeded: randomness without a generator to keep.
        let random = RandomState::new().hash_one(self.failures);
        scale(ceiling, random)
    }

    /// Starts over after a connection that has `lived` long enough to count as a success. A server
    /// that accepts and hangs up at once is failing, however often it accepts.
    pub fn connection_ended(&mut self, lived: Duration, limits: Reconnect) {
        if lived >= limits.max_delay {
            self.failures = 0;
        }
    }
}

fn ceiling(limits: Reconnect, failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    limits.base_delay.saturating_mul(factor).min(limits.max_delay)
}

/// `ceiling * random / 2^64`, without floating point.
fn scale(ceiling: Duration, random: u64) -> Duration {
    let nanos = (ceiling.as_nanos().saturating_mul(u128::from(random))) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Reconnect = Reconnect {
        base_delay: Duration::from_millis(50),
        max_delay: Duration::from_secs(2),
    };

    #[test]
    fn the_ceiling_doubles_up_to_the_maximum() {
        let ceilings: Vec<_> = (0..8).map(|n| ceiling(LIMITS, n).as_millis()).collect();
        assert_eq!(ceilings, [50, 100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(ceiling(LIMITS, u32::MAX), LIMITS.max_delay);
    }

    #[test]
    fn the_first_wait_is_bounded_by_the_maximum_too() {
        let limits = Reconnect {
            base_delay: Duration::from_secs(9),
            max_delay: Duration::from_secs(1),
        };
        assert_eq!(ceiling(limits, 0), limits.max_delay);
    }

    #[test]
    fn jitter_spans_the_whole_range() {
        let ceiling = Duration::from_millis(200);
        assert_eq!(scale(ceiling, 0), Duration::ZERO);
        assert_eq!(scale(ceiling, 1 << 63), Duration::from_millis(100));
        assert!(scale(ceiling, u64::MAX) < ceiling);
        assert!(scale(ceiling, u64::MAX) > Duration::from_millis(199));
    }

    #[test]
    fn waits_differ() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..20).map(|_| backoff.next_delay(LIMITS)).collect();
        assert!(waits.iter().all(|wait| *wait <= LIMITS.max_delay));
        assert!(waits.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn only_a_connection_that_lived_starts_over() {
        let mut backoff = Backoff { failures: 5 };
        backoff.connection_ended(Duration::from_millis(1_999), LIMITS);
        assert_eq!(backoff.failures, 5);
        backoff.connection_ended(LIMITS.max_delay, LIMITS);
        assert_eq!(backoff.failures, 0);
    }
}
