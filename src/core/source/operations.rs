//! The operations under way.

use super::super::Nanos;
use super::attempts::Attempts;
use super::plan::{HedgePlan, Plan};
use super::step::{GENERATIONS, OpId};

/// What an operation waits for, besides its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its attempts race.
    Racing,
    /// None runs; the next starts then.
    BackingOff { until: Nanos, backoff: Nanos },
    /// The caller has its answer; losers that are not cancelled run on.
    Answered,
}

/// The next hedge of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextHedge {
    /// There will be none.
    None,
    /// It is due then.
    At(Nanos),
    /// The user's gate is being asked; `again` when the budget had denied it before.
    Asking { again: bool },
    /// The budget denied it; it starts when calls have earned it.
    Waiting,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) plan: Plan,
    pub(super) started_at: Nanos,
    pub(super) deadline: Option<Nanos>,
    /// Whether the deadline is one that the call brought.
    pub(super) deadline_given: bool,
    pub(super) phase: Phase,
    pub(super) attempts: Attempts,
    pub(super) next_hedge: NextHedge,
    /// Since when the next hedge's delay counts.
    pub(super) hedge_from: Nanos,
    /// How many hedges became due.
    pub(super) hedges: u32,
    pub(super) retries: u32,
    /// What its timer is set to.
    pub(super) armed: Option<Nanos>,
}

impl Operation {
    /// How it may hedge once more, if it may.
    pub(super) fn hedge_left(&self) -> Option<HedgePlan> {
        let attempts_left = self.attempts.len() < self.plan.max_attempts;
        self.plan
            .hedge
            .filter(|plan| attempts_left && self.hedges < plan.max_hedges)
    }

    pub(super) fn is_due(&self, now: Nanos) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// When it wants to hear of the time next.
    pub(super) fn wake_at(&self) -> Option<Nanos> {
        let step = match (self.phase, self.next_hedge) {
            (Phase::BackingOff { until, .. }, _) => Some(until),
            (Phase::Racing, NextHedge::At(at)) => Some(at),
            _ => None,
        };
        step.into_iter().chain(self.deadline).min()
    }
}

/// What an operation begins with.
pub(super) struct New {
    pub(super) plan: Plan,
    pub(super) now: Nanos,
    pub(super) deadline: Option<Nanos>,
    pub(super) deadline_given: bool,
}

struct Place {
    generation: u32,
    live: bool,
    operation: Operation,
}

/// All operations of one source.
#[derive(Default)]
pub(super) struct Operations {
    places: Vec<Place>,
    vacant: Vec<u32>,
}

impl Operations {
    pub(super) fn insert(&mut self, new: &New) -> OpId {
        let slot = self.vacant.pop().unwrap_or_else(|| self.grow(new.plan));
        let place = &mut self.places[slot as usize];
        let mut attempts = std::mem::take(&mut place.operation.attempts);
        attempts.clear();
        place.live = true;
        place.operation = Operation {
            plan: new.plan,
            started_at: new.now,
            deadline: new.deadline,
            deadline_given: new.deadline_given,
            phase: Phase::Racing,
            attempts,
            next_hedge: NextHedge::None,
            hedge_from: 0,
            hedges: 0,
            retries: 0,
            armed: None,
        };
        OpId {
            slot,
            generation: place.generation,
        }
    }

    fn grow(&mut self, plan: Plan) -> u32 {
        let operation = Operation {
            plan,
            started_at: 0,
            deadline: None,
            deadline_given: false,
            phase: Phase::Answered,
            attempts: Attempts::default(),
            next_hedge: NextHedge::None,
            hedge_from: 0,
            hedges: 0,
            retries: 0,
            armed: None,
        };
        self.places.push(Place {
            generation: 0,
            live: false,
            operation,
        });
        u32::try_from(self.places.len() - 1).expect("fewer than 2^32 operations at once")
    }

    pub(super) fn get_mut(&mut self, id: OpId) -> Option<&mut Operation> {
        let place = self.places.get_mut(id.slot as usize)?;
        (place.live && place.generation == id.generation).then_some(&mut place.operation)
    }

    /// Whether it waits for the budget.
    pub(super) fn is_waiting(&self, id: OpId) -> bool {
        self.places.get(id.slot as usize).is_some_and(|place| {
            place.live && place.generation == id.generation && place.operation.next_hedge == NextHedge::Waiting
        })
    }

    /// The operation in this place.
    pub(super) fn id_at(&self, slot: u32) -> Option<OpId> {
        let place = self.places.get(slot as usize)?;
        let generation = place.generation;
        place.live.then_some(OpId { slot, generation })
    }

    pub(super) fn remove(&mut self, id: OpId) {
        if self.get_mut(id).is_some() {
            let place = &mut self.places[id.slot as usize];
            place.live = false;
            place.generation = (place.generation + 1) % GENERATIONS;
            self.vacant.push(id.slot);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }
}
