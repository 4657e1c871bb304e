//! The pending deadlines of one environment, earliest first.
//!
//! Almost every deadline is disarmed before it is due, so taking one out must cost as little as
//! putting it in: a four-ary heap with each id's place kept in a table. New deadlines are mostly
//! the latest ones, and then arming moves nothing.

const ARITY: usize = 4;
const NOWHERE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Armed {
    /// Nanoseconds on the caller's monotonic clock.
    at: u64,
    /// Deadlines of one instant are due in the order they were armed.
    order: u64,
    id: u32,
    referenced: bool,
}

impl Armed {
    fn before(&self, other: &Self) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

/// A set of deadlines, at most one for each id.
///
/// Ids are small dense integers: the table of places is as long as the greatest id seen.
#[derive(Debug, Default)]
pub struct Deadlines {
    heap: Vec<Armed>,
    places: Vec<u32>,
    referenced: usize,
    armed_ever: u64,
}

impl Deadlines {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the deadline of `id` to `at` nanoseconds, in place of one it already has.
    ///
    /// A `referenced` deadline keeps the process alive.
    pub fn arm(&mut self, id: u32, at: u64, referenced: bool) {
        self.disarm(id);
        let slot = id as usize;
        if slot >= self.places.len() {
            self.places.resize(slot + 1, NOWHERE);
        }
        let armed = Armed {
            at,
            order: self.armed_ever,
            id,
            referenced,
        };
        self.armed_ever += 1;
        self.referenced += usize::from(referenced);
        self.heap.push(armed);
        self.sift_up(self.heap.len() - 1);
    }

    /// Takes the deadline of `id` out. False when it had none.
    pub fn disarm(&mut self, id: u32) -> bool {
        match self.places.get(id as usize) {
            Some(&place) if place != NOWHERE => {
                self.take(place as usize);
                true
            }
            _ => false,
        }
    }

    /// Takes out the earliest deadline that is due at `now` (`at <= now`) and answers its id.
    pub fn pop_due(&mut self, now: u64) -> Option<u32> {
        let first = *self.heap.first()?;
        if first.at > now {
            return None;
        }
        self.take(0);
        Some(first.id)
    }

    /// The earliest deadline in nanoseconds.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.heap.first().map(|armed| armed.at)
    }

    /// The deadline of `id` in nanoseconds.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<u64> {
        match self.places.get(id as usize) {
            Some(&place) if place != NOWHERE => Some(self.heap[place as usize].at),
            _ => None,
        }
    }

    /// How many deadlines are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True when nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many pending deadlines keep the process alive.
    #[must_use]
    pub fn referenced_len(&self) -> usize {
        self.referenced
    }

    fn take(&mut self, place: usize) {
        let taken = self.heap.swap_remove(place);
        self.places[taken.id as usize] = NOWHERE;
        self.referenced -= usize::from(taken.referenced);
        if place < self.heap.len() {
            let moved_up = self.sift_up(place);
            if moved_up == place {
                self.sift_down(place);
            }
        }
    }

    /// Moves the entry at `place` towards the root; answers where it came to rest.
    fn sift_up(&mut self, mut place: usize) -> usize {
        let armed = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !armed.before(&self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, armed);
        place
    }

    fn sift_down(&mut self, mut place: usize) {
        let armed = self.heap[place];
        loop {
            let children = place * ARITY + 1;
            let end = (children + ARITY).min(self.heap.len());
            let Some(least) = (children..end).reduce(|least, child| {
                if self.heap[child].before(&self.heap[least]) {
                    child
                } else {
                    least
                }
            }) else {
                break;
            };
            if !self.heap[least].before(&armed) {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, armed);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "one place for each u32 id, and NOWHERE is never an id's place in practice: 2^32 - 1 entries are 96 GiB"
    )]
    fn put(&mut self, place: usize, armed: Armed) {
        self.heap[place] = armed;
        self.places[armed.id as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests;
