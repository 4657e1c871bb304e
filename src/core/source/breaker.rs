//! Whether an endpoint is worth calling.
//!
//! Closed, it counts; with half of at least 20 calls in 10 s failed it opens. Open, nothing gets
//! through for 5 s, then one attempt does, the probe. If that one succeeds the breaker closes; if not,
//! it stays open for twice as long as before, 60 s at most.
//!
//! Every error counts, also one that is fatal to its call, as in most breakers: a source that means "not
//! found" as an answer returns it and does not throw it. So does an attempt that ran into the deadline.
//! An attempt that was cancelled does not count at all.
//!
//! An open breaker has no timer, only the instant until which it is open. What started before a change
//! of state and settles after it says nothing about the new state and is ignored: attempts that fail
//! together open the breaker once and neither prolong nor restart what the first of them began.

use super::super::Nanos;

const SECOND: Nanos = 1_000_000_000;
/// Calls count for this long.
const WINDOW: usize = 10;
/// Fewer calls than this open nothing.
const MIN_CALLS: u32 = 20;
/// It opens when one call in so many has failed.
const ONE_FAILURE_IN: u32 = 2;
const FIRST_OPEN: Nanos = 5 * SECOND;
const LONGEST_OPEN: Nanos = 60 * SECOND;

/// What a breaker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything gets through.
    Closed,
    /// Nothing does.
    Open,
    /// The next attempt is the probe, or the probe is under way.
    HalfOpen,
}

/// An attempt's leave to call an endpoint, handed back when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    epoch: u32,
    probe: bool,
}

/// The breaker of one endpoint.
#[derive(Clone, Debug)]
pub struct Breaker {
    /// Counts changes of state.
    epoch: u32,
    open: Option<Open>,
    calls: [Second; WINDOW],
    /// How long it is open the next time.
    next_open: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    until: Nanos,
    probing: bool,
}

/// What settled in one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    number: u64,
    calls: u32,
    failures: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            epoch: 0,
            open: None,
            calls: [Second::default(); WINDOW],
            next_open: FIRST_OPEN,
        }
    }
}

impl Breaker {
    /// Whether an attempt may start: the breaker is closed, or the attempt would be its probe.
    #[must_use]
    pub const fn allows(&self, now: Nanos) -> bool {
        match self.open {
            None => true,
            Some(open) => open.until <= now && !open.probing,
        }
    }

    /// Whether a hedge may start. A hedge never probes: it is there to be fast.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// What it is doing.
    #[must_use]
    pub const fn state(&self, now: Nanos) -> BreakerState {
        match self.open {
            None => BreakerState::Closed,
            Some(open) if open.until <= now => BreakerState::HalfOpen,
            Some(_) => BreakerState::Open,
        }
    }

    /// An attempt starts.
    pub const fn begin(&mut self, now: Nanos) -> Permit {
        let allowed = self.allows(now);
        let mut probe = false;
        if let Some(open) = &mut self.open
            && allowed
        {
            open.probing = true;
            probe = true;
        }
        Permit {
            epoch: self.epoch,
            probe,
        }
    }

    /// The attempt brought a result.
    pub fn succeeded(&mut self, permit: Permit, now: Nanos) {
        if permit.epoch != self.epoch {
            return;
        }
        if permit.probe {
            self.epoch = self.epoch.wrapping_add(1);
            self.open = None;
            self.calls = [Second::default(); WINDOW];
            self.next_open = FIRST_OPEN;
        } else if self.is_closed() {
            self.second(now).calls += 1;
        }
    }

    /// The attempt failed, or ran into the deadline.
    pub fn failed(&mut self, permit: Permit, now: Nanos) {
        if permit.epoch != self.epoch {
            return;
        }
        if permit.probe {
            self.open(now);
        } else if self.is_closed() {
            let second = self.second(now);
            second.calls += 1;
            second.failures += 1;
            let (calls, failures) = self.recent(now);
            if calls >= MIN_CALLS && failures * ONE_FAILURE_IN >= calls {
                self.open(now);
            }
        }
    }

    /// The attempt was cancelled, which says nothing. If it was the probe, the next attempt is.
    pub const fn cancelled(&mut self, permit: Permit) {
        if permit.epoch == self.epoch
            && permit.probe
            && let Some(open) = &mut self.open
        {
            open.probing = false;
        }
    }

    fn open(&mut self, now: Nanos) {
        self.epoch = self.epoch.wrapping_add(1);
        self.open = Some(Open {
            until: now.saturating_add(self.next_open),
            probing: false,
        });
        self.next_open = (self.next_open * 2).min(LONGEST_OPEN);
    }

    fn second(&mut self, now: Nanos) -> &mut Second {
        let number = now / SECOND;
        let second = &mut self.calls[(number % WINDOW as u64) as usize];
        if second.number != number {
            *second = Second {
                number,
                ..Second::default()
            };
        }
        second
    }

    fn recent(&self, now: Nanos) -> (u32, u32) {
        let number = now / SECOND;
        self.calls
            .iter()
            .filter(|second| second.number + WINDOW as u64 > number)
            .fold((0, 0), |sum, second| (sum.0 + second.calls, sum.1 + second.failures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(breaker: &mut Breaker, ok: bool, now: Nanos) {
        let permit = breaker.begin(now);
        if ok {
            breaker.succeeded(permit, now);
        } else {
            breaker.failed(permit, now);
        }
    }

    fn opened(now: Nanos) -> Breaker {
        let mut breaker = Breaker::default();
        (0..20).for_each(|_| settle(&mut breaker, false, now));
        assert_eq!(breaker.state(now), BreakerState::Open);
        breaker
    }

    #[test]
    fn it_opens_at_half_of_20_calls() {
        let mut breaker = Breaker::default();
        (0..10).for_each(|_| settle(&mut breaker, true, 0));
        (0..9).for_each(|_| settle(&mut breaker, false, 0));
        assert!(breaker.is_closed(), "9 of 19");
        settle(&mut breaker, false, 0);
        assert!(!breaker.is_closed(), "10 of 20");

        let mut healthier = Breaker::default();
        (0..22).for_each(|_| settle(&mut healthier, true, 0));
        (0..21).for_each(|_| settle(&mut healthier, false, 0));
        assert!(healthier.is_closed(), "21 of 43");
    }

    #[test]
    fn nineteen_failures_open_nothing() {
        let mut breaker = Breaker::default();
        (0..19).for_each(|_| settle(&mut breaker, false, 0));
        assert!(breaker.allows(0));
    }

    #[test]
    fn calls_count_for_10_seconds() {
        let mut breaker = Breaker::default();
        (0..19).for_each(|_| settle(&mut breaker, false, 0));
        settle(&mut breaker, false, 10 * SECOND);
        assert!(breaker.is_closed());
        let mut within = Breaker::default();
        (0..19).for_each(|_| settle(&mut within, false, 0));
        settle(&mut within, false, 10 * SECOND - 1);
        assert!(!within.is_closed());
    }

    #[test]
    fn one_probe_after_5_seconds_closes_it() {
        let mut breaker = opened(0);
        assert!(!breaker.allows(5 * SECOND - 1));
        assert_eq!(breaker.state(5 * SECOND), BreakerState::HalfOpen);
        let probe = breaker.begin(5 * SECOND);
        assert!(!breaker.allows(6 * SECOND), "the probe is under way");
        breaker.succeeded(probe, 6 * SECOND);
        assert_eq!(breaker.state(6 * SECOND), BreakerState::Closed);
        (0..19).for_each(|_| settle(&mut breaker, false, 6 * SECOND));
        assert!(breaker.is_closed(), "what failed before is forgotten");
    }

    #[test]
    fn failed_probes_double_the_wait_up_to_60_seconds() {
        let mut breaker = opened(0);
        let mut now = 0;
        for seconds in [5, 10, 20, 40, 60, 60] {
            assert!(!breaker.allows(now + seconds * SECOND - 1), "{seconds}");
            now += seconds * SECOND;
            assert!(breaker.allows(now), "{seconds}");
            settle(&mut breaker, false, now);
        }
        now += 60 * SECOND;
        settle(&mut breaker, true, now);
        (0..20).for_each(|_| settle(&mut breaker, false, now));
        assert!(breaker.allows(now + 5 * SECOND), "from the start again");
    }

    #[test]
    fn opening_twice_keeps_the_timer() {
        let mut breaker = Breaker::default();
        let early: Vec<Permit> = (0..30).map(|_| breaker.begin(0)).collect();
        for (n, permit) in (0..).zip(early) {
            breaker.failed(permit, n * SECOND / 10);
        }
        // The 20th failure, at 1.9 s, opened it; those at 2.0 to 2.9 s changed nothing.
        assert!(!breaker.allows(SECOND * 69 / 10 - 1));
        assert!(breaker.allows(SECOND * 69 / 10));
        let probe = breaker.begin(7 * SECOND);
        breaker.failed(probe, 7 * SECOND);
        assert!(breaker.allows(17 * SECOND), "doubled once");
    }

    #[test]
    fn six_failures_at_once_do_not_leave_it_open_for_ever() {
        let mut breaker = Breaker::default();
        (0..14).for_each(|_| settle(&mut breaker, false, 0));
        let six: Vec<Permit> = (0..6).map(|_| breaker.begin(0)).collect();
        for permit in six {
            breaker.failed(permit, SECOND);
        }
        assert!(breaker.allows(6 * SECOND));
        settle(&mut breaker, true, 6 * SECOND);
        assert_eq!(breaker.state(6 * SECOND), BreakerState::Closed);
    }

    #[test]
    fn what_started_before_says_nothing_after() {
        let mut breaker = Breaker::default();
        let stale = breaker.begin(0);
        (0..20).for_each(|_| settle(&mut breaker, false, 0));
        let probe = breaker.begin(5 * SECOND);
        breaker.succeeded(stale, 5 * SECOND);
        assert!(!breaker.is_closed(), "only the probe closes it");
        breaker.failed(stale, 5 * SECOND);
        breaker.succeeded(probe, 6 * SECOND);
        assert!(breaker.is_closed());
        breaker.failed(stale, 6 * SECOND);
        assert_eq!(breaker.recent(6 * SECOND), (0, 0));
    }

    #[test]
    fn a_cancelled_probe_makes_way_for_another() {
        let mut breaker = opened(0);
        let probe = breaker.begin(5 * SECOND);
        breaker.cancelled(probe);
        assert!(breaker.allows(5 * SECOND));
        let mut closed = Breaker::default();
        let permit = closed.begin(0);
        closed.cancelled(permit);
        assert_eq!(closed.recent(0), (0, 0), "neither success nor failure");
    }

    #[test]
    fn an_attempt_in_spite_of_an_open_breaker_is_no_probe() {
        let mut breaker = opened(0);
        let defiant = breaker.begin(SECOND);
        breaker.succeeded(defiant, SECOND);
        assert!(!breaker.is_closed());
    }
}
