//! The lines between one environment's JavaScript thread and its I/O thread.

use std::cell::{RefCell, RefMut};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::cell::EngineCell;
use super::mailbox::{Letters, Mailbox};
use super::wake::Hold;
use crate::core::flight::FlightId;
use crate::remote::{IoThread, Sink, Ticket};

/// The number in the tickets of requests that no engine made.
pub const NO_ENGINE: u16 = u16::MAX;

const NUMBER_BITS: u32 = 27;
const GENERATION_BITS: u32 = 21;

/// Set beside the number of a call for which the process need not stay.
const BACKGROUND: Ticket = 1 << 32;

/// What a ticket stands for.
pub enum Addressee {
    /// A flight of an engine.
    Flight {
        /// The engine's number.
        engine: u16,
        /// The flight's number.
        flight: FlightId,
        /// Its generation.
        generation: u32,
    },
    /// A call of a client's own method, by its number.
    Call(u32),
}

/// The JavaScript thread's end.
pub struct Lines {
    mailbox: Arc<Mailbox>,
    io: IoThread,
    engines: RefCell<Vec<Weak<EngineCell>>>,
    /// Letters that were fetched and are not read yet.
    letters: RefCell<Letters>,
    hold: Hold,
}

impl Lines {
    /// Lines to an I/O thread that starts with its first client.
    pub fn new(mailbox: Arc<Mailbox>, hold: Hold) -> Self {
        let io = IoThread::start(Arc::clone(&mailbox) as Arc<dyn Sink>);
        Self {
            mailbox,
            io,
            engines: RefCell::default(),
            letters: RefCell::default(),
            hold,
        }
    }

    /// The I/O thread.
    pub const fn io(&self) -> &IoThread {
        &self.io
    }

    /// Gives an engine a number, one of a dropped engine if there is one.
    pub fn enrol(&self, engine: &Rc<EngineCell>) -> Option<u16> {
        let mut engines = self.engines.borrow_mut();
        let vacant = engines.iter().position(|engine| engine.strong_count() == 0);
        let position = vacant.unwrap_or(engines.len());
        let number = u16::try_from(position).ok().filter(|number| *number != NO_ENGINE)?;
        if vacant.is_none() {
            engines.push(Weak::new());
        }
        engines[position] = Rc::downgrade(engine);
        Some(number)
    }

    /// The engine of this number, if it is still there.
    pub fn engine(&self, number: u16) -> Option<Rc<EngineCell>> {
        self.engines.borrow().get(usize::from(number))?.upgrade()
    }

    /// One more request is waited for.
    pub fn retain(&self) {
        self.hold.retain();
    }

    /// One more request is under way for which the process need not stay.
    pub fn retain_weakly(&self) {
        self.hold.retain_weakly();
    }

    /// A request is over, whoever waited for it.
    pub fn release(&self, ticket: Ticket) {
        if is_background(ticket) {
            self.hold.release_weakly();
        } else {
            self.hold.release();
        }
    }

    /// How many requests are under way.
    pub const fn waiting(&self) -> u32 {
        self.hold.count() + self.hold.weak_count()
    }

    /// Letters to read: those that are left over, or else what the I/O thread has posted.
    pub fn letters(&self) -> RefMut<'_, Letters> {
        let mut letters = self.letters.borrow_mut();
        self.mailbox.fetch(&mut letters);
        letters
    }

    /// Whether nothing is left over and nothing has come: then the next event wakes, and only then.
    ///
    /// While the JavaScript thread is at work, waking it is not only dear. Node calls a threadsafe
    /// function again up to a thousand times before timers and sockets have their turn, so one that
    /// is woken during each of its calls keeps them waiting for seconds.
    pub fn rest(&self) -> bool {
        self.mailbox.rest(&self.letters.borrow())
    }
}

/// The ticket of an engine's request.
pub fn flight_ticket(engine: u16, flight: FlightId, generation: u32) -> Ticket {
    (u64::from(engine) << (NUMBER_BITS + GENERATION_BITS))
        | (u64::from(generation) << NUMBER_BITS)
        | u64::from(flight.0)
}

/// The ticket of a client's own call.
pub fn call_ticket(call: u32) -> Ticket {
    (u64::from(NO_ENGINE) << (NUMBER_BITS + GENERATION_BITS)) | u64::from(call)
}

/// The ticket of a call for which the process need not stay.
pub fn background_ticket(call: u32) -> Ticket {
    call_ticket(call) | BACKGROUND
}

/// Whether it is one of those.
pub const fn is_background(ticket: Ticket) -> bool {
    ticket >> (NUMBER_BITS + GENERATION_BITS) == NO_ENGINE as u64 && ticket & BACKGROUND != 0
}

/// Whose ticket it is.
#[expect(clippy::cast_possible_truncation, reason = "taking the fields apart is the point")]
pub const fn addressee(ticket: Ticket) -> Addressee {
    let engine = (ticket >> (NUMBER_BITS + GENERATION_BITS)) as u16;
    if engine == NO_ENGINE {
        return Addressee::Call(ticket as u32);
    }
    Addressee::Flight {
        engine,
        flight: FlightId(ticket as u32 & ((1 << NUMBER_BITS) - 1)),
        generation: (ticket >> NUMBER_BITS) as u32 & ((1 << GENERATION_BITS) - 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tickets_name_their_addressee(engine in 0..NO_ENGINE, flight in 0..1_u32 << 27, generation in 0..1_u32 << 21) {
            match addressee(flight_ticket(engine, FlightId(flight), generation)) {
                Addressee::Flight { engine: e, flight: f, generation: g } => {
                    prop_assert_eq!((e, f, g), (engine, FlightId(flight), generation));
                }
                Addressee::Call(_) => prop_assert!(false),
            }
        }

        #[test]
        fn calls_are_told_from_flights(call: u32) {
            for ticket in [call_ticket(call), background_ticket(call)] {
                prop_assert!(matches!(addressee(ticket), Addressee::Call(number) if number == call));
            }
            prop_assert!(is_background(background_ticket(call)));
            prop_assert!(!is_background(call_ticket(call)));
        }

        #[test]
        fn no_flight_is_taken_for_background_work(engine in 0..NO_ENGINE, flight in 0..1_u32 << 27, generation in 0..1_u32 << 21) {
            prop_assert!(!is_background(flight_ticket(engine, FlightId(flight), generation)));
        }
    }
}
