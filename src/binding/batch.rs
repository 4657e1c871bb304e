//! Events as JavaScript reads them: two places of one array each, since filling a place costs more
//! than taking a number apart.
//!
//! | | a flight's | a client call's | a client's status | a client wants credentials |
//! |---|---|---|---|---|
//! | target | engine's number | [`CALL`] | [`STATUS`] | [`CREDENTIALS`] |
//! | number | flight's number | call's number | client's id | client's id |
//! | reply | [`Reply`] | [`Reply`] | 0 | 0 |
//! | value | payload or failure | payload or failure | status | request's number |
//!
//! The value of a background read is the payload with the time it was written, as `[payload, ms]`.
//!
//! Target, number and reply are packed into the first place: see [`pack`].
//!
//! A [`Passage`] may come before the end of a background request, and where somebody listens of a
//! flight's.

use std::rc::Rc;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Array, BufferSlice, Env, ToNapiValue};
use napi_derive::napi;

use super::codes::{self, Reply};
use super::engine::float;
use super::lines::{Addressee, Lines, addressee, is_background};
use super::mailbox::Letter;
use super::passage::Passage;
use super::payload::presentable;
use crate::core::chain::{AfterRead, ReadResult};
use crate::core::engine::WriteResult;
use crate::core::envelope::{OpenOutcome, Payload, SealOutcome};
use crate::core::flight::FlightId;
use crate::remote::{Event, ReadOutcome, RemoteError, Sealing, Ticket};

/// Places of one event.
const PLACES: u32 = 2;

/// Targets above the numbers of engines.
const CALL: u32 = 1 << 16;
const STATUS: u32 = CALL + 1;
const CREDENTIALS: u32 = CALL + 2;

/// A failure of the Redis side, without any secret.
#[napi(object)]
pub struct Failure {
    /// A stable name from a bounded list.
    pub kind: String,
    /// One line for a person.
    pub message: String,
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self {
            kind: error.kind.as_str().into(),
            message: error.message.into_owned(),
        }
    }
}

/// A batch under construction.
pub struct Batch<'env, 'lines> {
    env: &'env Env,
    lines: &'lines Rc<Lines>,
    array: Array<'env>,
    places: u32,
    bytes: usize,
}

impl<'env, 'lines> Batch<'env, 'lines> {
    /// An empty batch.
    pub fn new(env: &'env Env, lines: &'lines Rc<Lines>) -> napi::Result<Self> {
        Ok(Self {
            env,
            lines,
            array: env.create_array(0)?,
            places: 0,
            bytes: 0,
        })
    }

    /// How many events it holds.
    pub const fn events(&self) -> usize {
        (self.places / PLACES) as usize
    }

    /// How many bytes of payloads it holds.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The finished batch.
    pub fn into_array(self) -> Array<'env> {
        self.array
    }

    /// Tells the engine an event, and adds what JavaScript has to know of it.
    pub fn add(&mut self, letter: Letter<'_>) -> napi::Result<()> {
        if let Some(ticket) = letter.event.ticket() {
            self.lines.release(ticket);
        }
        match letter.event {
            Event::Read { ticket, at, outcome } => self.add_read(ticket, at, outcome, letter.text),
            Event::Due { ticket, at } => match addressee(ticket) {
                Addressee::Call(call) => self.push(CALL, call, Reply::TimedOut as i32, ()),
                Addressee::Flight {
                    engine,
                    flight,
                    generation,
                } => {
                    let reply = self.tell(engine, flight, generation, |core, clock| {
                        codes::reply(core.read_due(flight, clock.at(at)))
                    });
                    self.push(u32::from(engine), flight.0, reply, ())
                }
            },
            Event::Hedge { ticket, at } => {
                let Addressee::Flight {
                    engine,
                    flight,
                    generation,
                } = addressee(ticket)
                else {
                    return Ok(());
                };
                let reply = self.tell(engine, flight, generation, |core, clock| {
                    codes::after_delay(core.hedge_due(flight, clock.at(at)))
                });
                if reply == Reply::Stale as i32 {
                    return Ok(());
                }
                self.push(u32::from(engine), flight.0, reply, ())
            }
            Event::Write {
                ticket,
                sealing,
                outcome,
                ..
            } => match addressee(ticket) {
                Addressee::Call(call) => {
                    if let Some(sealing) = sealing
                        && is_background(ticket)
                    {
                        self.push_passage(CALL, call, sealing.into())?;
                    }
                    self.push_written(call, outcome)
                }
                Addressee::Flight {
                    engine,
                    flight,
                    generation,
                } => self.push_flight_written(engine, flight, generation, sealing, outcome),
            },
            Event::Invalidate { ticket, outcome, .. } | Event::Ready { ticket, outcome } => {
                self.push_call_outcome(ticket, outcome.err())
            }
            Event::Status { client, status } => self.push(STATUS, client, 0, status.as_str()),
            Event::Credentials { client, request } => {
                let request = u32::try_from(request % (1 << 31)).unwrap_or_default();
                self.push(CREDENTIALS, client, 0, request)
            }
        }
    }

    fn add_read(&mut self, ticket: Ticket, at: Instant, outcome: ReadOutcome, text: &str) -> napi::Result<()> {
        let (mut opened, mut open_time) = (OpenOutcome::Passthrough, Duration::ZERO);
        let (result, found, failure) = match outcome {
            ReadOutcome::Hit(hit) => {
                (opened, open_time) = (hit.opened, hit.open_time);
                (ReadResult::Hit, Some((hit.payload, hit.created_at_ms)), None)
            }
            ReadOutcome::Miss => (ReadResult::Miss, None, None),
            ReadOutcome::Failed(error) => (ReadResult::Failed, None, Some(error)),
        };
        let (target, number, reply) = match addressee(ticket) {
            Addressee::Call(call) => match found {
                Some((payload, created_at_ms)) if is_background(ticket) => {
                    if opened != OpenOutcome::Passthrough {
                        self.push_passage(CALL, call, Passage::opened(opened, open_time))?;
                    }
                    return self.push_found(call, payload, text, created_at_ms);
                }
                _ => (CALL, call, plain_reply(result)),
            },
            Addressee::Flight {
                engine,
                flight,
                generation,
            } => {
                let reply = self.tell(engine, flight, generation, |core, clock| {
                    if let Some((_, created_at_ms)) = &found {
                        core.found(flight, *created_at_ms);
                    }
                    let verdict = core.read_settled(flight, result, clock.at(at));
                    if verdict == AfterRead::Load {
                        core.opened(flight, opened);
                    }
                    codes::reply(verdict)
                });
                if reply == Reply::Load as i32 && opened != OpenOutcome::Passthrough && self.observed(engine) {
                    self.push_passage(u32::from(engine), flight.0, Passage::opened(opened, open_time))?;
                }
                (u32::from(engine), flight.0, reply)
            }
        };
        match (found, failure) {
            (Some((payload, _)), _) if reply == Reply::Load as i32 => self.push_payload(target, number, payload, text),
            (_, failure) => self.push_failure(target, number, reply, failure),
        }
    }

    /// Tells the flight's engine, unless engine or flight are gone.
    fn tell(
        &self,
        engine: u16,
        flight: FlightId,
        generation: u32,
        what: impl FnOnce(&mut crate::core::engine::Engine, &super::clock::Clock) -> i32,
    ) -> i32 {
        let Some(cell) = self.lines.engine(engine) else {
            return Reply::Stale as i32;
        };
        let mut core = cell.core.borrow_mut();
        match core.flight(flight) {
            Some(current) if current.generation == generation => what(&mut core, &cell.clock),
            _ => Reply::Stale as i32,
        }
    }

    fn push_flight_written(
        &mut self,
        engine: u16,
        flight: FlightId,
        generation: u32,
        sealing: Option<Sealing>,
        outcome: Result<bool, RemoteError>,
    ) -> napi::Result<()> {
        let result = match &outcome {
            Ok(true) => WriteResult::Stored,
            Ok(false) => WriteResult::Fenced,
            Err(_) => WriteResult::Failed,
        };
        let mut packed = codes::NO_SLOT;
        let reply = self.tell(engine, flight, generation, |core, clock| {
            if let Some(sealing) = sealing {
                core.sealed(flight, sealing.outcome);
            }
            packed = codes::placed(core.write_settled(flight, result, clock.now()), core);
            (match result {
                WriteResult::Stored => Reply::Written,
                WriteResult::Fenced => Reply::Fenced,
                WriteResult::Failed => Reply::WriteFailed,
            }) as i32
        });
        if reply != Reply::Stale as i32
            && let Some(sealing) = sealing
            && (sealing.outcome == SealOutcome::Failed || self.observed(engine))
        {
            self.push_passage(u32::from(engine), flight.0, sealing.into())?;
        }
        match outcome {
            Ok(_) => self.push(u32::from(engine), flight.0, reply, packed),
            Err(error) => self.push_failure(u32::from(engine), flight.0, reply, Some(error)),
        }
    }

    /// Whether anyone wants to be told what became of an engine's payloads.
    fn observed(&self, engine: u16) -> bool {
        self.lines.engine(engine).is_some_and(|cell| cell.observed)
    }

    fn push_passage(&mut self, target: u32, number: u32, passage: Passage) -> napi::Result<()> {
        self.push(target, number, Reply::Passage as i32, passage)
    }

    /// Whether a client's own write was stored, or fenced off.
    fn push_written(&mut self, call: u32, outcome: Result<bool, RemoteError>) -> napi::Result<()> {
        match outcome {
            Ok(accepted) => self.push(CALL, call, Reply::Written as i32, accepted),
            Err(error) => self.push_failure(CALL, call, Reply::WriteFailed as i32, Some(error)),
        }
    }

    fn push_call_outcome(&mut self, ticket: Ticket, failure: Option<RemoteError>) -> napi::Result<()> {
        let Addressee::Call(call) = addressee(ticket) else {
            return Ok(());
        };
        let reply = if failure.is_none() {
            Reply::Written
        } else {
            Reply::WriteFailed
        };
        self.push_failure(CALL, call, reply as i32, failure)
    }

    /// `text` is the payload's, unless it is in the payload itself.
    fn push_payload(&mut self, target: u32, number: u32, payload: Payload, text: &str) -> napi::Result<()> {
        self.bytes += payload.len() + text.len();
        let reply = Reply::Load as i32;
        match presentable(payload) {
            Payload::Text(empty) if empty.is_empty() => self.push(target, number, reply, text),
            Payload::Text(text) => self.push(target, number, reply, text),
            Payload::Bytes(bytes) => self.push(target, number, reply, BufferSlice::from_data(self.env, bytes)?),
        }
    }

    /// What a read of background work found, and when that was written.
    fn push_found(&mut self, call: u32, payload: Payload, text: &str, created_at_ms: u64) -> napi::Result<()> {
        self.bytes += payload.len() + text.len();
        let mut found = self.env.create_array(2)?;
        match presentable(payload) {
            Payload::Text(empty) if empty.is_empty() => found.set(0, text)?,
            Payload::Text(text) => found.set(0, text)?,
            Payload::Bytes(bytes) => found.set(0, BufferSlice::from_data(self.env, bytes)?)?,
        }
        found.set(1, float(created_at_ms))?;
        self.push(CALL, call, Reply::Load as i32, found)
    }

    fn push_failure(&mut self, target: u32, number: u32, reply: i32, failure: Option<RemoteError>) -> napi::Result<()> {
        self.push(target, number, reply, failure.map(Failure::from))
    }

    fn push(&mut self, target: u32, number: u32, reply: i32, value: impl ToNapiValue) -> napi::Result<()> {
        self.array.set(self.places, pack(target, number, reply))?;
        self.array.set(self.places + 1, value)?;
        self.places += PLACES;
        Ok(())
    }
}

/// One number that JavaScript can hold: the target above 32 bits, in which the reply stands above
/// the [`codes::NUMBER_BITS`] of the number.
#[expect(clippy::cast_precision_loss, reason = "17 + 32 bits are below 2^53")]
const fn pack(target: u32, number: u32, reply: i32) -> f64 {
    let low = (reply.cast_unsigned() << codes::NUMBER_BITS) | (number & codes::NO_SLOT.cast_unsigned());
    (((target as u64) << u32::BITS) | low as u64) as f64
}

const fn plain_reply(result: ReadResult) -> i32 {
    let reply = match result {
        ReadResult::Hit => Reply::Load,
        ReadResult::Miss => Reply::Miss,
        ReadResult::Failed => Reply::Failed,
    };
    reply as i32
}
