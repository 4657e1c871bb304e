//! What a client has counted.

use std::time::Duration;

use super::error::ErrorKind;

/// A client's figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests that hold a share of `max_pending` now, timed-out reads without a reply included.
    pub pending: usize,
    /// Bytes of keys and payloads that hold a share of `max_pending_bytes` now.
    pub pending_bytes: usize,
    /// Connections opened after the first one.
    pub reconnects: u64,
    /// Connection attempts that failed.
    pub failed_attempts: u64,
    /// Kind of the last failure of a connection, an attempt or a command.
    pub last_error: Option<ErrorKind>,
    /// Reads whose reply missed the deadline.
    pub late: LateReplies,
}

/// What became of reads whose deadline passed after they were sent: how much a longer deadline
/// would have brought in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateReplies {
    /// Replies that held a value, by how late they came.
    pub hits: Lateness,
    /// Replies without one.
    pub misses: Lateness,
    /// Error replies.
    pub failed: u64,
    /// No reply: the connection ended first.
    pub lost: u64,
}

/// A histogram of how long after their deadline replies came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// How many replies.
    pub count: u64,
    /// The latest one.
    pub max: Duration,
    /// How many replies within each of [`Lateness::BOUNDS_MS`], not cumulated; the last one is for
    /// those beyond.
    pub buckets: [u64; Lateness::BOUNDS_MS.len() + 1],
}

impl Lateness {
    /// Upper bounds of the buckets, in milliseconds, inclusive.
    pub const BOUNDS_MS: [u64; 11] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];

    pub(super) fn record(&mut self, late: Duration) {
        self.count += 1;
        self.max = self.max.max(late);
        let bucket = Self::BOUNDS_MS.partition_point(|bound| Duration::from_millis(*bound) < late);
        self.buckets[bucket] += 1;
    }

    /// The upper bound of the bucket that the `percent`th percentile is in, and `max` for the last
    /// one; `None` when nothing was recorded.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = (self.count * percent.min(100)).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let bound = Self::BOUNDS_MS.get(bucket).copied();
                return Some(bound.map_or(self.max, |ms| Duration::from_millis(ms).min(self.max)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_fall_into_the_bucket_whose_bound_they_do_not_exceed() {
        let mut lateness = Lateness::default();
        for micros in [0, 1_000, 1_001, 2_000_000, 2_000_001] {
            lateness.record(Duration::from_micros(micros));
        }
        assert_eq!(lateness.count, 5);
        assert_eq!(lateness.buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(lateness.max, Duration::from_micros(2_000_001));
    }

    #[test]
    fn percentiles_are_bucket_bounds_and_never_above_the_maximum() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(50), None);
        for _ in 0..99 {
            lateness.record(Duration::from_millis(4));
        }
        lateness.record(Duration::from_secs(3));
        assert_eq!(lateness.percentile(0), Some(Duration::from_millis(5)));
        assert_eq!(lateness.percentile(50), Some(Duration::from_millis(5)));
        assert_eq!(lateness.percentile(99), Some(Duration::from_millis(5)));
        assert_eq!(lateness.percentile(100), Some(Duration::from_secs(3)));
        let mut early = Lateness::default();
        early.record(Duration::from_micros(300));
        assert_eq!(early.percentile(50), Some(Duration::from_micros(300)));
    }
}
