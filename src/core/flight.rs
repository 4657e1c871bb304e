//! The calls under way: who leads which key, who may join, and for how long.
//!
//! A flight is joinable from its first step until its value is in the process-local layer, or else
//! until its Redis write has settled or its linger time is over. A write that never settles can
//! therefore not keep a frozen value joinable.

use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;

use super::Nanos;
use super::chain::Chain;
use super::engine::{ShadowPlan, UseCaseId};

/// A flight's number: dense, reused once the flight is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlightId(pub u32);

/// One leader's call.
#[derive(Debug)]
pub struct Flight {
    /// Tells this flight from earlier ones of the same number.
    pub generation: u32,
    /// The use case that leads.
    pub use_case: UseCaseId,
    /// What the leader does next.
    pub chain: Chain,
    /// Lifetime of the value in the process-local layer.
    pub local_ttl: Nanos,
    /// Lifetime of the value in Redis, in milliseconds.
    pub remote_ttl_ms: u64,
    /// What it is invalidated with; 0 for untracked keys.
    pub group: u64,
    /// When the leader began.
    pub started_at: Nanos,
    /// How long it waits for Redis.
    pub read_timeout: Nanos,
    /// How long its source may run; `None`: for ever.
    pub source_timeout: Option<Nanos>,
    /// Whether it is shadowed.
    pub shadow: ShadowPlan,
    /// When the value that its read found was written, in milliseconds since the Unix epoch.
    pub created_at_ms: Option<u64>,
    key: Rc<[u8]>,
    /// `None` for a flight that is nobody else's business (`coalesce: false`, every layer off).
    followers: Option<u32>,
    joinable_until: Nanos,
}

impl Flight {
    /// The flight's key, as [`super::engine::Engine`] composes it.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

/// Unanswered flights, as `getCoalescingState` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unanswered {
    /// Leaders whose callers still wait.
    pub leaders: u32,
    /// Calls that joined them.
    pub followers: u32,
    /// When the oldest of them began.
    pub oldest: Option<Nanos>,
}

/// All flights of one instance.
#[derive(Default)]
pub struct Flights {
    slab: Vec<Option<Flight>>,
    vacant: Vec<u32>,
    by_key: HashMap<Rc<[u8]>, u32, RandomState>,
    next_generation: u32,
    leaders: u32,
    followers: u32,
}

/// How far generations count before they start again. A reply would have to outlive this many
/// later flights of its number to be taken for one of theirs.
pub const GENERATIONS: u32 = 1 << 21;

impl Flights {
    /// Whether no flight can be joined, so that a lookup need not hash its key.
    #[must_use]
    pub fn nothing_to_join(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Joins the flight of `key` when there is one that may still be joined at `now`.
    pub fn join(&mut self, key: &[u8], now: Nanos) -> Option<FlightId> {
        let number = *self.by_key.get(key)?;
        let flight = self.slab[number as usize].as_mut()?;
        if now >= flight.joinable_until {
            self.by_key.remove(key);
            return None;
        }
        if !flight.chain.is_answered()
            && let Some(followers) = &mut flight.followers
        {
            *followers += 1;
            self.followers += 1;
        }
        Some(FlightId(number))
    }

    /// Takes off. A `shared` flight can be joined under its key.
    pub fn lead(&mut self, key: &[u8], shared: bool, flight: NewFlight) -> FlightId {
        let key: Rc<[u8]> = key.into();
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.slab.push(None);
            u32::try_from(self.slab.len() - 1).unwrap_or(u32::MAX)
        });
        self.next_generation = (self.next_generation + 1) % GENERATIONS;
        if shared {
            self.by_key.insert(Rc::clone(&key), number);
            self.leaders += 1;
        }
        self.slab[number as usize] = Some(Flight {
            generation: self.next_generation,
            use_case: flight.use_case,
            chain: flight.chain,
            local_ttl: flight.local_ttl,
            remote_ttl_ms: flight.remote_ttl_ms,
            group: flight.group,
            started_at: flight.started_at,
            read_timeout: flight.read_timeout,
            source_timeout: flight.source_timeout,
            shadow: flight.shadow,
            created_at_ms: None,
            key,
            followers: shared.then_some(0),
            joinable_until: Nanos::MAX,
        });
        FlightId(number)
    }

    /// The flight of this number.
    #[must_use]
    pub fn get(&self, id: FlightId) -> Option<&Flight> {
        self.slab.get(id.0 as usize)?.as_ref()
    }

    /// The flight of this number.
    pub fn get_mut(&mut self, id: FlightId) -> Option<&mut Flight> {
        self.slab.get_mut(id.0 as usize)?.as_mut()
    }

    /// The callers have their answer: they are no longer counted, the flight may still be joined.
    pub fn answered(&mut self, id: FlightId) {
        if let Some(flight) = self.get_mut(id)
            && let Some(followers) = flight.followers.take()
        {
            self.leaders -= 1;
            self.followers -= followers;
        }
    }

    /// From `at` on nobody joins this flight any more.
    pub fn joinable_until(&mut self, id: FlightId, at: Nanos) {
        if let Some(flight) = self.get_mut(id) {
            flight.joinable_until = at;
        }
    }

    /// Until when this answered flight may be joined; `None` when nobody can.
    #[must_use]
    pub fn joinable_till(&self, id: FlightId) -> Option<Nanos> {
        self.is_listed(id)
            .then(|| self.get(id).map(|flight| flight.joinable_until))
            .flatten()
    }

    /// Nobody joins this flight any more; the flight itself goes on.
    pub fn unlist(&mut self, id: FlightId) {
        let Some(flight) = self.get(id) else { return };
        let key = Rc::clone(&flight.key);
        if self.by_key.get(&key) == Some(&id.0) {
            self.by_key.remove(&key);
        }
    }

    /// A group was invalidated: nobody joins its flights any more, and what they load stays out of
    /// the process-local layer. Answers the flights.
    pub fn bar(&mut self, group: u64) -> Vec<FlightId> {
        let flights = self.iter().filter(|(_, flight)| flight.group == group);
        let barred: Vec<FlightId> = flights.map(|(id, _)| id).collect();
        for id in &barred {
            self.unlist(*id);
            if let Some(flight) = self.get_mut(*id) {
                flight.chain.bar();
            }
        }
        barred
    }

    /// The flight is over and its number free.
    pub fn land(&mut self, id: FlightId) {
        self.answered(id);
        self.unlist(id);
        if let Some(place) = self.slab.get_mut(id.0 as usize)
            && place.take().is_some()
        {
            self.vacant.push(id.0);
        }
    }

    /// Every flight there is.
    pub fn iter(&self) -> impl Iterator<Item = (FlightId, &Flight)> {
        (0..)
            .zip(&self.slab)
            .filter_map(|(number, flight)| Some((FlightId(number), flight.as_ref()?)))
    }

    /// The flights whose callers still wait.
    #[must_use]
    pub fn unanswered(&self) -> Unanswered {
        Unanswered {
            leaders: self.leaders,
            followers: self.followers,
            oldest: self
                .iter()
                .filter(|(_, flight)| flight.followers.is_some())
                .map(|(_, flight)| flight.started_at)
                .min(),
        }
    }

    /// Answered flights that may still be joined.
    #[must_use]
    pub fn lingering(&self) -> usize {
        let listed = self.by_key.values().filter_map(|number| self.get(FlightId(*number)));
        listed.filter(|flight| flight.chain.is_answered()).count()
    }

    /// Whether others may join this flight.
    #[must_use]
    pub fn is_listed(&self, id: FlightId) -> bool {
        self.get(id)
            .is_some_and(|flight| self.by_key.get(&flight.key) == Some(&id.0))
    }
}

/// What a flight takes off with.
#[derive(Debug)]
pub struct NewFlight {
    /// The use case that leads.
    pub use_case: UseCaseId,
    /// The chain at its first step.
    pub chain: Chain,
    /// Lifetime of the value in the process-local layer.
    pub local_ttl: Nanos,
    /// Lifetime of the value in Redis, in milliseconds.
    pub remote_ttl_ms: u64,
    /// What it is invalidated with; 0 for untracked keys.
    pub group: u64,
    /// Now.
    pub started_at: Nanos,
    /// How long the leader waits for Redis.
    pub read_timeout: Nanos,
    /// How long its source may run; `None`: for ever.
    pub source_timeout: Option<Nanos>,
    /// Whether it is shadowed.
    pub shadow: ShadowPlan,
}

#[cfg(test)]
mod tests;
