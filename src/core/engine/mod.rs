//! The cache engine: told what happened, it answers what to do next.
//!
//! One engine is one `DialCache` instance. It owns the key index, the flights, the deadlines and the
//! counters; its caller owns values, promises and sockets, and names the time with each call.

mod answer;
mod begin;
mod registry;
mod settle;
#[cfg(test)]
mod tests;
mod timers;

pub use answer::{Begin, Due, Gauges, LayerTrace, Settled, Timer, Trace};
pub use registry::{CallOptions, UseCaseId, UseCaseOptions};

use super::deadline::Deadlines;
use super::error::KeyError;
use super::flight::{Flight, FlightId, Flights};
use super::local::{Eviction, LocalIndex, Slot};
use super::metrics::{Counter, Counters};
use registry::Registry;

/// What an engine is made with.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// First part of every key.
    pub namespace: String,
    /// Entries of the process-local layer over all use cases; 0 turns it off.
    pub local_max_size: u64,
    /// Which entry makes room.
    pub eviction: Eviction,
    /// Whether there is a Redis layer.
    pub remote: bool,
    /// Whether read deadlines are kept in this engine's timers, rather than by the I/O thread.
    pub times_reads: bool,
}

/// Ends the id and begins the arguments in an engine's keys: no byte of UTF-8.
const ARGS: u8 = 0xFF;

/// The cache engine.
pub struct Engine {
    remote: bool,
    times_reads: bool,
    index: Option<LocalIndex>,
    flights: Flights,
    deadlines: Deadlines,
    announced: Timer,
    registry: Registry,
    trace: Trace,
    key: Vec<u8>,
    logical: String,
}

impl Engine {
    /// An empty engine.
    #[must_use]
    pub fn new(options: EngineOptions) -> Self {
        let index = (options.local_max_size > 0).then(|| LocalIndex::new(options.local_max_size, options.eviction));
        Self {
            remote: options.remote,
            times_reads: options.times_reads,
            index,
            flights: Flights::default(),
            deadlines: Deadlines::default(),
            announced: Timer::default(),
            registry: Registry::new(options.namespace),
            trace: Trace::default(),
            key: Vec::new(),
            logical: String::new(),
        }
    }

    /// Registers a use case.
    ///
    /// # Errors
    /// When its parts cannot be made into keys.
    pub fn register(&mut self, options: &UseCaseOptions<'_>) -> Result<UseCaseId, KeyError> {
        self.registry.add(options)
    }

    /// What happened at each layer in the latest [`Engine::begin`].
    #[must_use]
    pub const fn trace(&self) -> Trace {
        self.trace
    }

    /// The Redis key of a flight's value; empty when there is no such flight.
    ///
    /// # Errors
    /// When the id cannot be made into a key.
    pub fn value_key(&self, id: FlightId) -> Result<String, KeyError> {
        let Some(flight) = self.flights.get(id) else {
            return Ok(String::new());
        };
        let text = &flight.key()[size_of::<u32>()..];
        let mut parts = text.split(|byte| *byte == ARGS);
        let mut part = || str::from_utf8(parts.next().unwrap_or_default()).unwrap_or_default();
        let scheme = &self.registry.space_of(flight.use_case).scheme;
        scheme.value_key(part(), part())
    }

    /// The flight of this number.
    #[must_use]
    pub fn flight(&self, id: FlightId) -> Option<&Flight> {
        self.flights.get(id)
    }

    /// Whether slots wait in [`Engine::take_freed`].
    #[must_use]
    pub fn has_freed(&self) -> bool {
        self.index.as_ref().is_some_and(LocalIndex::freed_pending)
    }

    /// Slots whose values must be dropped; they are reused afterwards.
    pub fn take_freed(&mut self) -> Vec<Slot> {
        self.index.as_mut().map(LocalIndex::take_freed).unwrap_or_default()
    }

    /// Facts for `stats()`.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            local_entries: self.index.as_ref().map_or(0, LocalIndex::len),
            unanswered: self.flights.unanswered(),
            lingering: self.flights.lingering(),
            timers: self.deadlines.len(),
        }
    }

    /// Key type, use case and counters of everything registered.
    pub fn counters(&self) -> impl Iterator<Item = (&str, &str, &Counters)> {
        let spaces = self.registry.spaces().iter();
        spaces.map(|space| (&*space.key_type, &*space.use_case, &space.counters))
    }

    fn count(&mut self, id: UseCaseId, counter: Counter) {
        self.registry.count(id, counter);
    }
}
