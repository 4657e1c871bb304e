//! One `DialCache` instance's engine, with the clock it is told and the client it reads through.

use std::cell::RefCell;
use std::rc::Rc;

use super::clock::Clock;
use super::codes::{self, Start};
use super::lines::{Lines, background_ticket, flight_ticket};
use crate::core::engine::{Begin, CallOptions, Engine, UseCaseId};
use crate::core::flight::FlightId;
use crate::remote::{Client, Envelope, ReadRequest, RemoteError, WriteRequest};

/// An engine and its surroundings. Lives on the JavaScript thread.
pub struct EngineCell {
    /// The engine.
    pub core: RefCell<Engine>,
    /// Its clock.
    pub clock: Clock,
    /// Whether anyone wants to be told what became of each payload.
    pub observed: bool,
    /// The native client it reads through, when it has one.
    pub reader: RefCell<Option<Reader>>,
    /// Why the native client refused the latest read.
    pub refused: RefCell<Option<RemoteError>>,
}

/// How an engine reads through a native client.
pub struct Reader {
    /// The client.
    pub client: Client,
    /// The environment's lines to the I/O thread.
    pub lines: Rc<Lines>,
    /// This engine's number there.
    pub number: u16,
}

impl EngineCell {
    /// A call of a use case, packed: see [`codes::start`].
    pub fn begin(&self, use_case: UseCaseId, options: Option<&CallOptions>, id: &str, args: &str) -> i32 {
        let now = self.clock.now();
        let mut core = self.core.borrow_mut();
        let Ok(begin) = core.begin(use_case, options, id, args, now) else {
            return codes::start(Start::KeyError, 0, core.has_freed());
        };
        let (kind, number) = match begin {
            Begin::Hit(slot) => (Start::Hit, slot.0),
            Begin::Join(flight) => (Start::Join, flight.0),
            Begin::Source(flight) => (Start::Source, flight.0),
            Begin::Read(flight) => (self.read(&mut core, flight), flight.0),
        };
        codes::start(kind, number, core.has_freed())
    }

    fn read(&self, core: &mut Engine, flight: FlightId) -> Start {
        let reader = self.reader.borrow();
        let Some(reader) = &*reader else {
            return Start::ReadElsewhere;
        };
        match reader.submit(core, &self.clock, flight) {
            Ok(()) => Start::Read,
            Err(error) => {
                core.read_refused(flight, self.clock.now());
                self.refused.replace(Some(error));
                Start::ReadRefused
            }
        }
    }
}

impl Reader {
    fn submit(&self, core: &Engine, clock: &Clock, id: FlightId) -> Result<(), RemoteError> {
        let Some(flight) = core.flight(id) else {
            return Ok(());
        };
        let chain = &flight.chain;
        let request = ReadRequest {
            value_key: core.value_key(id).unwrap_or_default(),
            watermark_key: core.watermark_key(id),
            envelope: Envelope::Ours,
            deadline: chain.read_deadline().and_then(|deadline| clock.instant(deadline)),
            hedge_at: chain.hedge_at().and_then(|hedge_at| clock.instant(hedge_at)),
        };
        let ticket = flight_ticket(self.number, id, flight.generation);
        self.client.read(ticket, request)?;
        self.lines.retain();
        Ok(())
    }

    /// Reads in the background; the process need not stay for it.
    pub fn read_weakly(&self, call: u32, request: ReadRequest) -> Result<(), RemoteError> {
        self.client.read(background_ticket(call), request)?;
        self.lines.retain_weakly();
        Ok(())
    }

    /// Writes in the background; the process need not stay for it.
    pub fn write_weakly(&self, call: u32, request: WriteRequest) -> Result<(), RemoteError> {
        self.client.write(background_ticket(call), request)?;
        self.lines.retain_weakly();
        Ok(())
    }

    /// Writes a flight's value in the background.
    pub fn write(&self, id: FlightId, generation: u32, request: WriteRequest) -> Result<(), RemoteError> {
        self.client.write(flight_ticket(self.number, id, generation), request)?;
        self.lines.retain();
        Ok(())
    }
}
