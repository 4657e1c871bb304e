//! A read that is hedged: when its source may start beside it, and what both waiting means for the
//! flight's one timer.

use std::time::Duration;

use super::super::Nanos;
use super::super::chain::Publication;
use super::super::flight::FlightId;
use super::super::hedge::read::{ReadDelay, ReadHedge};
use super::super::metrics::Counter;
use super::registry::{SpaceId, UseCaseId, nanos};
use super::{AfterDelay, Engine, Settled};

impl Engine {
    /// When a read that begins now may be hedged; `None` when too few reads are known for `"auto"`, or
    /// when this call's read would be over by then.
    pub(super) fn hedge_at(
        &mut self,
        space: SpaceId,
        delay: ReadDelay,
        read_timeout: Duration,
        now: Nanos,
    ) -> Option<Nanos> {
        let hedge = self.registry.hedge_for(space, delay, read_timeout)?;
        let delay = hedge.begin(now).filter(|delay| *delay < nanos(read_timeout))?;
        Some(now.saturating_add(delay))
    }

    /// The flight's delay was reported over at `at`.
    pub fn hedge_due(&mut self, id: FlightId, at: Nanos) -> AfterDelay {
        let Some(flight) = self.flights.get_mut(id) else {
            return AfterDelay::Stale;
        };
        if !flight.chain.hedge_due(at) {
            return AfterDelay::Stale;
        }
        let use_case = flight.use_case;
        let space = self.registry.use_case(use_case).space;
        let granted = self.registry.hedge(space).is_some_and(ReadHedge::ask);
        // Of the read, the deadline alone is left.
        self.rearm(id);
        if granted {
            return AfterDelay::Hedge;
        }
        self.count(use_case, Counter::ReadHedgeDenied);
        AfterDelay::Denied
    }

    /// When the flight's read may be hedged.
    #[must_use]
    pub fn read_hedge_at(&self, id: FlightId) -> Option<Nanos> {
        self.flight(id)?.chain.hedge_at()
    }

    /// Whether the flight waits for its read, its answer given or not.
    #[must_use]
    pub fn is_reading(&self, id: FlightId) -> bool {
        self.flight(id).is_some_and(|flight| flight.chain.is_reading())
    }

    /// The source failed while the read may still bring a value.
    pub(super) fn hedge_failed(&mut self, id: FlightId, use_case: UseCaseId, how: Counter) {
        self.count(use_case, how);
        self.count(use_case, Counter::ReadHedgeSourceError);
        self.rearm(id);
    }

    /// The source answered while the read was pending. The flight goes on to the end of the read, after
    /// which there may be a value to write.
    pub(super) fn outran(
        &mut self,
        id: FlightId,
        publication: Publication,
        joinable_until: Nanos,
        now: Nanos,
    ) -> Settled {
        if let Some(use_case) = self.flight(id).map(|flight| flight.use_case) {
            self.count(use_case, Counter::ReadHedgeOutrun);
        }
        let slot = self.publish_locally(id, publication.local, now);
        let joinable = self.answered(id, slot, joinable_until);
        self.rearm(id);
        Settled::Accepted {
            slot,
            write: true,
            joinable,
        }
    }

    /// One more read time for `"auto"`. Not of a read that failed: how soon a connection is refused says
    /// nothing of when a reply is late.
    pub(super) fn sample_read(&mut self, id: FlightId, at: Nanos) {
        let Some(flight) = self.flights.get(id) else {
            return;
        };
        let duration = at.saturating_sub(flight.started_at).min(flight.read_timeout);
        let space = self.registry.use_case(flight.use_case).space;
        if let Some(hedge) = self.registry.hedge(space) {
            hedge.read_over(duration, at);
        }
    }

    /// The read is over: what its deadline's place in the timers is needed for now.
    pub(super) fn rearm_after_read(&mut self, id: FlightId) {
        match self.flights.get(id) {
            Some(flight) if flight.chain.was_hedged() => self.rearm(id),
            _ => {
                self.deadlines.disarm(id.0);
            }
        }
    }

    /// Arms the flight's timer for what is over first: its read's delay or deadline, or its source's.
    pub(super) fn rearm(&mut self, id: FlightId) {
        let Some(flight) = self.flights.get(id) else {
            return;
        };
        let chain = &flight.chain;
        let read = if self.times_reads {
            earliest(chain.hedge_at(), chain.read_deadline())
        } else {
            None
        };
        match earliest(read, chain.source_deadline()) {
            Some(at) => self.deadlines.arm(id.0, at, true),
            None => {
                self.deadlines.disarm(id.0);
            }
        }
    }
}

fn earliest(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
