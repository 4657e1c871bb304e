//! What follows when a read, a serializer, the source or a write is done.

use super::super::Nanos;
use super::super::chain::{AfterRead, AfterSource, Next, ReadResult};
use super::super::envelope::{OpenOutcome, SealOutcome};
use super::super::flight::FlightId;
use super::super::local::Slot;
use super::super::metrics::Counter;
use super::registry::UseCaseId;
use super::{Engine, Settled, WriteResult};

impl Engine {
    /// When the flight's read is given up.
    #[must_use]
    pub fn read_deadline(&self, id: FlightId) -> Option<Nanos> {
        self.flight(id)?.chain.read_deadline()
    }

    /// The flight's Redis read settled at `at`.
    pub fn read_settled(&mut self, id: FlightId, result: ReadResult, at: Nanos) -> AfterRead {
        let Some(flight) = self.flights.get_mut(id) else {
            return AfterRead::Stale;
        };
        let over = flight.chain.read_deadline().is_some_and(|deadline| at >= deadline);
        let verdict = flight.chain.read_settled(result, at);
        if verdict != AfterRead::Stale && (over || result != ReadResult::Failed) {
            self.sample_read(id, at);
        }
        self.after_read(id, verdict)
    }

    /// The flight's read failed before it began, so nothing waits for its deadline.
    pub fn read_refused(&mut self, id: FlightId, now: Nanos) {
        if self.read_settled(id, ReadResult::Failed, now) != AfterRead::Stale
            && let Some(use_case) = self.flight(id).map(|flight| flight.use_case)
        {
            self.registry.take_back(use_case, Counter::ReadDeadlineArmed);
        }
    }

    /// The flight's read deadline was reported due at `at`.
    pub fn read_due(&mut self, id: FlightId, at: Nanos) -> AfterRead {
        let Some(flight) = self.flights.get_mut(id) else {
            return AfterRead::Stale;
        };
        let verdict = flight.chain.read_due(at);
        if verdict != AfterRead::Stale {
            self.sample_read(id, at);
        }
        self.after_read(id, verdict)
    }

    fn after_read(&mut self, id: FlightId, verdict: AfterRead) -> AfterRead {
        let Some(flight) = self.flights.get(id) else {
            return verdict;
        };
        let use_case = flight.use_case;
        if verdict == AfterRead::Stale {
            return verdict;
        }
        let counter = match verdict {
            AfterRead::Miss => Counter::RemoteMiss,
            AfterRead::Failed => Counter::ReadFailed,
            AfterRead::TimedOut => Counter::ReadTimeout,
            AfterRead::Write if self.remote => {
                self.linger(id);
                return verdict;
            }
            AfterRead::Write | AfterRead::Over => {
                self.end(id);
                return AfterRead::Over;
            }
            AfterRead::Load | AfterRead::Stale => {
                self.rearm_after_read(id);
                return verdict;
            }
        };
        self.rearm_after_read(id);
        self.count(use_case, counter);
        self.pass_error(id);
        verdict
    }

    /// The flight's payload came out of its envelope, to be loaded.
    pub fn opened(&self, id: FlightId, outcome: OpenOutcome) {
        self.count_flights(id, Counter::opened(outcome));
    }

    /// The flight's payload was put into its envelope, to be written.
    pub fn sealed(&self, id: FlightId, outcome: SealOutcome) {
        self.count_flights(id, Counter::sealed(outcome));
    }

    fn count_flights(&self, id: FlightId, counter: Option<Counter>) {
        let Some(counter) = counter else { return };
        if let Some(flight) = self.flight(id) {
            self.count(flight.use_case, counter);
        }
    }

    /// The serializer rejected the flight's payload; the source comes next. False when the call had
    /// its answer before.
    pub fn load_failed(&mut self, id: FlightId) -> bool {
        let Some(flight) = self.flights.get_mut(id) else {
            return false;
        };
        let use_case = flight.use_case;
        let waited = flight.chain.load_failed();
        self.count(use_case, Counter::LoadFailed);
        if waited {
            self.count(use_case, Counter::RemoteMiss);
            self.pass_error(id);
        }
        waited
    }

    /// A source that ran beside the read has failed before, and now the read has brought nothing: the
    /// flight is over.
    fn pass_error(&mut self, id: FlightId) {
        let Some(flight) = self.flights.get_mut(id) else {
            return;
        };
        if flight.chain.next() == Next::PassError {
            flight.chain.error_passed();
            self.end(id);
        }
    }

    /// The serializer made a value of the flight's payload. The flight is over.
    pub fn loaded(&mut self, id: FlightId, now: Nanos) -> Option<Slot> {
        let flight = self.flights.get_mut(id)?;
        let publication = flight.chain.loaded()?;
        let use_case = flight.use_case;
        if flight.chain.was_hedged() {
            self.deadlines.disarm(id.0);
            self.count(use_case, Counter::ReadHedgeHit);
        }
        self.count(use_case, Counter::RemoteHit);
        let slot = self.publish_locally(id, publication.local, now);
        self.flights.land(id);
        slot
    }

    /// The flight's source begins.
    pub fn source_started(&mut self, id: FlightId, now: Nanos) {
        let Some(flight) = self.flights.get_mut(id) else {
            return;
        };
        let use_case = flight.use_case;
        let deadline = flight.source_timeout.map(|timeout| now.saturating_add(timeout));
        flight.chain.source_started(deadline);
        if flight.chain.is_reading() {
            self.rearm(id);
        } else if let Some(deadline) = deadline {
            self.deadlines.arm(id.0, deadline, true);
        }
        self.count(use_case, Counter::SourceCall);
    }

    /// The flight's source settled, with a value (`ok`) or a failure.
    pub fn source_settled(&mut self, id: FlightId, ok: bool, now: Nanos) -> Settled {
        let Some(flight) = self.flights.get_mut(id) else {
            return Settled::Stale;
        };
        let use_case = flight.use_case;
        let joinable_until = now.saturating_add(flight.read_timeout);
        let verdict = flight.chain.source_settled(ok, now);
        let publication = match verdict {
            AfterSource::Stale => return Settled::Stale,
            AfterSource::TimedOut => {
                self.source_timed_out(id, use_case);
                return Settled::TimedOut;
            }
            AfterSource::TimedOutAwaitRead => {
                self.hedge_failed(id, use_case, Counter::SourceTimeout);
                return Settled::TimedOutAwaitRead;
            }
            AfterSource::AwaitRead => {
                self.hedge_failed(id, use_case, Counter::SourceFailed);
                return Settled::AwaitRead;
            }
            AfterSource::Failed => {
                self.count(use_case, Counter::SourceFailed);
                self.end(id);
                return Settled::Failed;
            }
            AfterSource::Outrun(publication) => return self.outran(id, publication, joinable_until, now),
            AfterSource::Accept(publication) => publication,
        };
        self.deadlines.disarm(id.0);
        let outrun = self.flight(id).is_some_and(|flight| flight.chain.was_outrun());
        if outrun {
            // By a source that was done before the serializer was.
            self.count(use_case, Counter::ReadHedgeOutrun);
        }
        let slot = self.publish_locally(id, publication.local, now);
        let write = publication.remote && self.remote;
        let wanted = self.flight(id).is_some_and(|flight| flight.remote_ttl_ms > 0);
        if wanted && !write && !outrun {
            self.count(use_case, Counter::WriteSkipped);
        }
        if !write {
            self.flights.land(id);
            return Settled::Accepted {
                slot,
                write,
                joinable: false,
            };
        }
        let joinable = self.answered(id, slot, joinable_until);
        self.linger(id);
        Settled::Accepted { slot, write, joinable }
    }

    /// The flight has its answer, and goes on. Whether it may still be joined, until then.
    pub(super) fn answered(&mut self, id: FlightId, slot: Option<Slot>, joinable_until: Nanos) -> bool {
        self.flights.answered(id);
        let joinable = slot.is_none() && self.flights.is_listed(id);
        if joinable {
            self.flights.joinable_until(id, joinable_until);
        } else {
            self.flights.unlist(id);
        }
        joinable
    }

    /// Nothing but the time in which it may be joined ends now.
    fn linger(&mut self, id: FlightId) {
        match self.flights.joinable_till(id) {
            Some(at) => self.deadlines.arm(id.0, at, false),
            None => {
                self.deadlines.disarm(id.0);
            }
        }
    }

    pub(super) fn source_timed_out(&mut self, id: FlightId, use_case: UseCaseId) {
        self.count(use_case, Counter::SourceTimeout);
        self.deadlines.disarm(id.0);
        self.flights.land(id);
    }

    pub(super) fn publish_locally(&mut self, id: FlightId, wanted: bool, now: Nanos) -> Option<Slot> {
        if !wanted {
            return None;
        }
        let flight = self.flights.get(id)?;
        let index = self.index.as_mut()?;
        let expires_at = now.saturating_add(flight.local_ttl);
        let slot = index.insert(flight.key(), expires_at, flight.group);
        // A value that was refused is not there for the next call: its flight must not end yet.
        index.keeps(flight.key()).then_some(slot)
    }

    /// The flight's value could not be dumped: there is no write.
    pub fn dump_failed(&mut self, id: FlightId) {
        if let Some(use_case) = self.flight(id).map(|flight| flight.use_case) {
            self.count(use_case, Counter::DumpFailed);
            self.end(id);
        }
    }

    /// The flight's Redis write settled. The flight is over; a tracked value that the server stamped
    /// may enter the process-local layer now.
    pub fn write_settled(&mut self, id: FlightId, outcome: WriteResult, now: Nanos) -> Option<Slot> {
        let flight = self.flight(id)?;
        let use_case = flight.use_case;
        let publish = outcome == WriteResult::Stored && flight.chain.publishes_when_stamped();
        self.count(
            use_case,
            match outcome {
                WriteResult::Stored => Counter::WriteOk,
                WriteResult::Fenced => Counter::WriteFenced,
                WriteResult::Failed => Counter::WriteFailed,
            },
        );
        let slot = self.publish_locally(id, publish, now);
        self.end(id);
        slot
    }

    pub(super) fn end(&mut self, id: FlightId) {
        self.deadlines.disarm(id.0);
        self.flights.land(id);
    }

    /// Turns the Redis layer off for good. Returns the flights whose reads fail by that.
    pub fn close_remote(&mut self, now: Nanos) -> Vec<FlightId> {
        self.remote = false;
        self.shadows.close();
        let flights = self.flights.iter();
        let mut failed: Vec<FlightId> = flights
            .filter(|(_, flight)| flight.chain.is_reading())
            .map(|(id, _)| id)
            .collect();
        failed.retain(|id| self.read_settled(*id, ReadResult::Failed, now) != AfterRead::Stale);
        failed
    }
}
