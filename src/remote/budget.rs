//! How much may be pending on one node.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::options::Settings;

/// What is pending, as a count and in bytes.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pending: AtomicUsize,
    bytes: AtomicUsize,
}

impl Budget {
    /// Takes a share, which has to be given back even when this says why it is too much.
    pub fn take(&self, bytes: usize, limits: &Settings) -> Option<&'static str> {
        let pending = self.pending.fetch_add(1, Ordering::Relaxed);
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if pending >= limits.max_pending {
            Some("maxPending requests are pending already")
        } else if bytes > limits.max_pending_bytes {
            Some("the request has more bytes than maxPendingBytes")
        } else if bytes > limits.max_pending_bytes.saturating_sub(held) {
            Some("maxPendingBytes of requests are pending already")
        } else {
            None
        }
    }

    pub fn give_back(&self, bytes: usize) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::options::Options;
    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Take(usize),
        GiveBack(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..300_usize).prop_map(Step::Take),
            2 => any::<usize>().prop_map(Step::GiveBack),
        ]
    }

    proptest! {
        /// What is refused gives its share back at once, as [`super::super::pending`] does.
        #[test]
        fn what_is_admitted_stays_within_both_limits(
            max_pending in 1..20_usize,
            max_pending_bytes in 1..1_000_usize,
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let options = Options { max_pending, max_pending_bytes, ..Options::default() };
            let limits = Settings::new(options).expect("valid options");
            let budget = Budget::default();
            let mut held: Vec<usize> = Vec::new();
            for step in steps {
                match step {
                    Step::Take(bytes) => {
                        let sum: usize = held.iter().sum();
                        let fits = held.len() < max_pending && sum + bytes <= max_pending_bytes;
                        let refusal = budget.take(bytes, &limits);
                        prop_assert_eq!(refusal.is_none(), fits, "{:?}", refusal);
                        if fits {
                            held.push(bytes);
                        } else {
                            budget.give_back(bytes);
                        }
                    }
                    Step::GiveBack(which) if !held.is_empty() => {
                        budget.give_back(held.swap_remove(which % held.len()));
                    }
                    Step::GiveBack(_) => {}
                }
                prop_assert_eq!((budget.pending(), budget.bytes()), (held.len(), held.iter().sum()));
            }
        }
    }
}
