//! Which endpoint an attempt goes to.
//!
//! The order of endpoints is preference: the primary goes to the first that is let through. The policy
//! chooses among the others.

use super::super::Nanos;
use super::super::error::OptionError;
use super::attempts::Attempts;
use super::breaker::{Breaker, BreakerState, Permit};
use super::plan::{FailoverPlan, Plan};

/// The statuses of a response that count as a failure of the endpoint, unless others are named.
pub const FAIL_ON_STATUSES: [u16; 6] = [500, 502, 503, 504, 522, 524];

/// Checks a list of such statuses.
///
/// # Errors
/// When one of them is no status of a response.
pub fn fail_on_statuses(statuses: &[f64]) -> Result<Vec<u16>, OptionError> {
    let checked = statuses.iter().map(|status| {
        let known = (100.0..=599.0).contains(status) && status.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range"
        )]
        let number = known.then_some(*status as u16);
        number.ok_or(OptionError::OutOfRange {
            option: "failover.failOnStatuses",
            rule: "a list of statuses from 100 to 599",
            value: *status,
        })
    });
    checked.collect()
}

/// Which of the other endpoints comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The most preferred.
    #[default]
    Sequential,
    /// Each in its turn, over all operations.
    RoundRobin,
    /// Any.
    Random,
}

impl Policy {
    /// The policy of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn parse(name: &str) -> Result<Self, OptionError> {
        match name {
            "sequential" => Ok(Self::Sequential),
            "round-robin" => Ok(Self::RoundRobin),
            "random" => Ok(Self::Random),
            _ => Err(OptionError::UnknownName {
                option: "failover.policy",
                known: "\"sequential\", \"round-robin\", \"random\"",
                value: name.into(),
            }),
        }
    }
}

/// The endpoints of one source.
pub(super) struct Endpoints {
    count: u32,
    /// One for each endpoint, or none at all.
    breakers: Vec<Breaker>,
    /// Where the next turn begins.
    turn: u32,
    pub(super) random: fastrand::Rng,
}

impl Endpoints {
    pub(super) fn new(count: u32, breakers: bool, seed: u64) -> Self {
        Self {
            count,
            breakers: (0..count).filter(|_| breakers).map(|_| Breaker::default()).collect(),
            turn: 0,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    fn breaker(&self, endpoint: u32) -> Option<&Breaker> {
        self.breakers.get(endpoint as usize)
    }

    fn allows(&self, endpoint: u32, now: Nanos) -> bool {
        self.breaker(endpoint).is_none_or(|breaker| breaker.allows(now))
    }

    fn is_closed(&self, endpoint: u32) -> bool {
        self.breaker(endpoint).is_none_or(Breaker::is_closed)
    }

    /// An attempt starts at this endpoint. `None` without a breaker.
    pub(super) fn begin(&mut self, endpoint: u32, now: Nanos) -> Option<Permit> {
        let breaker = self.breakers.get_mut(endpoint as usize)?;
        Some(breaker.begin(now))
    }

    /// The breaker that a permit came from.
    pub(super) fn breaker_mut(&mut self, endpoint: u32) -> Option<&mut Breaker> {
        self.breakers.get_mut(endpoint as usize)
    }

    /// What each breaker is doing; empty without breakers.
    pub(super) fn states(&self, now: Nanos) -> impl Iterator<Item = BreakerState> {
        self.breakers.iter().map(move |breaker| breaker.state(now))
    }

    /// Where the first attempt goes. `None` when no breaker lets it through.
    pub(super) fn primary(&self, failover: Option<FailoverPlan>, now: Nanos) -> Option<u32> {
        let Some(failover) = failover else {
            return self.allows(0, now).then_some(0);
        };
        let allowed = (0..self.count).find(|endpoint| self.allows(*endpoint, now));
        allowed.or((!failover.respect_circuit_breaker).then_some(0))
    }

    /// Where a failed attempt is tried again at once: an endpoint this operation has not been to.
    pub(super) fn alternate(&mut self, plan: FailoverPlan, attempts: &Attempts, now: Nanos) -> Option<u32> {
        self.choose(plan.policy, |endpoints, endpoint| {
            !attempts.went_to(endpoint) && (!plan.respect_circuit_breaker || endpoints.allows(endpoint, now))
        })
    }

    /// Where a hedge goes: another endpoint when a healthy one is left, else one it has been to.
    pub(super) fn for_hedge(&mut self, plan: &Plan, attempts: &Attempts) -> Option<u32> {
        let policy = plan.failover.map_or(Policy::Sequential, |failover| failover.policy);
        self.choose(policy, |endpoints, endpoint| {
            endpoints.is_closed(endpoint) && !attempts.went_to(endpoint)
        })
        .or_else(|| self.choose(policy, Self::is_closed))
    }

    /// Where a failed attempt is repeated after a while: with failover not where it just failed, if that
    /// can be helped. Without it always where the primary was.
    pub(super) fn for_retry(&mut self, plan: &Plan, attempts: &Attempts, now: Nanos) -> Option<u32> {
        let first = attempts.first().endpoint;
        let Some(failover) = plan.failover else {
            return self.allows(first, now).then_some(first);
        };
        let last = attempts.last().endpoint;
        let respect = failover.respect_circuit_breaker;
        self.choose(failover.policy, |endpoints, endpoint| {
            endpoint != last && (!respect || endpoints.allows(endpoint, now))
        })
        .or((!respect || self.allows(last, now)).then_some(last))
    }

    /// Whether [`Endpoints::for_retry`] would find an endpoint at that time, as things are now.
    pub(super) fn lets_retry(&self, plan: &Plan, attempts: &Attempts, at: Nanos) -> bool {
        match plan.failover {
            None => self.allows(attempts.first().endpoint, at),
            Some(failover) => {
                !failover.respect_circuit_breaker || (0..self.count).any(|endpoint| self.allows(endpoint, at))
            }
        }
    }

    fn choose(&mut self, policy: Policy, fits: impl Fn(&Self, u32) -> bool) -> Option<u32> {
        let fitting = |endpoints: &Self, endpoint: &u32| fits(endpoints, *endpoint);
        match policy {
            Policy::Sequential => (0..self.count).find(|endpoint| fitting(self, endpoint)),
            Policy::RoundRobin => {
                let order = (self.turn..self.count).chain(0..self.turn);
                let chosen = order.into_iter().find(|endpoint| fitting(self, endpoint))?;
                self.turn = (chosen + 1) % self.count;
                Some(chosen)
            }
            Policy::Random => {
                let number = (0..self.count).filter(|endpoint| fitting(self, endpoint)).count();
                let nth = (number > 0).then(|| self.random.usize(..number))?;
                (0..self.count).filter(|endpoint| fitting(self, endpoint)).nth(nth)
            }
        }
    }
}
