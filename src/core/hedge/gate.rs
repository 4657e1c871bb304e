//! Whether this is a moment for extra work at all.

/// Hedges are denied while the attempts under way are at or over this part of `maxInFlight`.
const FULL: (u64, u64) = (4, 5);

/// A source's limit on attempts under way, for the sake of hedging: nothing but hedges is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    max_in_flight: Option<u32>,
}

impl Gate {
    /// A gate that closes at 80 % of `max_in_flight`; without one it never closes.
    #[must_use]
    pub const fn new(max_in_flight: Option<u32>) -> Self {
        Self { max_in_flight }
    }

    /// Whether a hedge may start beside `in_flight` attempts. Hedges among them must not be counted:
    /// each would make the next one less likely, however idle the origin is.
    #[must_use]
    pub const fn allows(self, in_flight: u32) -> bool {
        match self.max_in_flight {
            Some(max) => (in_flight as u64) * FULL.1 < (max as u64) * FULL.0,
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_closes_at_80_percent() {
        let gate = Gate::new(Some(10));
        assert!(gate.allows(7));
        assert!(!gate.allows(8));
        assert!(Gate::new(Some(u32::MAX)).allows(u32::MAX / 5 * 4 - 1));
        assert!(!Gate::new(Some(1)).allows(1));
        assert!(Gate::default().allows(u32::MAX));
    }
}
