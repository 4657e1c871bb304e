//! The cache engine: told what happened, it answers what to do next.
//!
//! One engine is one `DialCache` instance. It owns the key index, the flights, the deadlines and the
//! counters; its caller owns values, promises and sockets, and names the time with each call.

mod answer;
mod begin;
mod hedge;
mod registry;
mod settle;
mod shadow;
#[cfg(test)]
mod tests;
mod timers;

pub use answer::{AfterDelay, Begin, Due, Gauges, LayerTrace, Settled, Timer, Trace, WriteResult};
pub use registry::{CallOptions, UseCaseId, UseCaseOptions};
pub use shadow::{NoJob, ShadowKeys, ShadowPlan};

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::deadline::Deadlines;
use super::error::KeyError;
use super::flight::{Flight, FlightId, Flights};
use super::local::{Eviction, LocalIndex, Slot, UNTRACKED};
use super::metrics::{Counter, CounterList};
use super::shadow::{ShadowOptions, Shadows};
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
    /// Most shadow jobs at once.
    pub shadow_max_in_flight: usize,
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
    shadows: Shadows,
    announced: Timer,
    registry: Registry,
    groups: RandomState,
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
            shadows: Shadows::new(ShadowOptions {
                max_in_flight: options.shadow_max_in_flight,
                times_reads: options.times_reads,
            }),
            announced: Timer::default(),
            registry: Registry::new(options.namespace),
            groups: RandomState::default(),
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
        let (id, args) = parts(flight.key());
        self.registry.space_of(flight.use_case).scheme.value_key(id, args)
    }

    /// The Redis key of the watermark that a flight's value is checked against; `None` for an
    /// untracked one.
    #[must_use]
    pub fn watermark_key(&self, id: FlightId) -> Option<String> {
        let flight = self.flights.get(id)?;
        let scheme = &self.registry.space_of(flight.use_case).scheme;
        if !scheme.tracked() {
            return None;
        }
        scheme.watermark_key(parts(flight.key()).0).ok()
    }

    /// An id was invalidated: drops its tracked entries here, and bars what is being loaded for it.
    /// Answers the watermark's Redis key.
    ///
    /// # Errors
    /// When key type or id cannot be part of a tracked key.
    pub fn invalidate(&mut self, key_type: &str, id: &str) -> Result<String, KeyError> {
        let watermark_key = self.registry.watermark_key(key_type, id)?;
        let group = self.group_of(key_type, id);
        if let Some(index) = &mut self.index {
            index.remove_group(group);
        }
        self.shadows.bar(group);
        for flight in self.flights.bar(group) {
            let lingers = |flight: &Flight| flight.chain.is_answered() && !flight.chain.is_reading();
            if self.flight(flight).is_some_and(lingers) {
                self.deadlines.disarm(flight.0);
            }
        }
        Ok(watermark_key)
    }

    /// Never [`UNTRACKED`].
    fn group_of(&self, key_type: &str, id: &str) -> u64 {
        self.groups.hash_one((key_type, id)).max(UNTRACKED + 1)
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
            timers: self.deadlines.len() + self.shadows.timers(),
            shadows: self.shadows.len(),
        }
    }

    /// The counters of everything registered.
    #[must_use]
    pub const fn counted(&self) -> &CounterList {
        self.registry.counted()
    }

    fn count(&self, id: UseCaseId, counter: Counter) {
        self.registry.count(id, counter);
    }
}

/// Id and arguments of a key as an engine composes it.
fn parts(key: &[u8]) -> (&str, &str) {
    let mut parts = key[size_of::<u32>()..].split(|byte| *byte == ARGS);
    let mut part = || str::from_utf8(parts.next().unwrap_or_default()).unwrap_or_default();
    (part(), part())
}
