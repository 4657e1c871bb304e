//! The index of the process-local layer: which key has which slot, until when.
//!
//! Values never come here. They live in a JavaScript array, and a [`Slot`] is an index into it, so
//! a hit hands out the same object again. Whoever holds the array takes [`LocalIndex::take_freed`]
//! and clears those places; only then is a slot given to another key.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

/// The most entries an index holds, whatever it is asked for. As many slots again may wait to be
/// taken before [`Slot`] runs out of numbers.
pub const MAX_ENTRIES: u64 = 1 << 26;

const SLOTS: u32 = 1 << 27;

/// The bound up to which eviction follows uses exactly.
const EXACT_UP_TO: u64 = 1_024;

/// A place in the array of values: dense, below 2^27, reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Which entry makes room for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eviction {
    /// The least recently used one. In an index for more than 1,024 entries, reads of the 64 newest
    /// ones may not count.
    #[default]
    Lru,
    /// The less popular of the oldest entries and the new one: scans do not flush the cache, but a
    /// key seen for the first time may be refused.
    TinyLfu,
}

type Key = Box<[u8]>;

#[derive(Debug, Clone, Copy)]
struct Entry {
    expires_at: u64,
    group: Group,
    slot: Slot,
}

/// A group in half the bytes: with a whole one, moka's block for an entry is 16 bytes larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Group(u32);

impl Group {
    const NONE: Self = Self(0);

    fn of(group: u64) -> Self {
        if group == UNTRACKED {
            return Self::NONE;
        }
        Self(1 + u32::try_from(group % u64::from(u32::MAX)).unwrap_or(0))
    }
}

/// Slots whose entry is gone and whose value is still in the array.
#[derive(Debug, Default)]
struct Freed {
    any: AtomicBool,
    slots: Mutex<Vec<Slot>>,
    /// Keys of tracked entries that are gone, for [`Groups`] to forget.
    ungrouped: Mutex<Vec<(Group, Arc<Key>)>>,
}

impl Freed {
    /// The whole of the eviction listener: moka drops one that panics for good.
    fn note(&self, key: Arc<Key>, entry: Entry) {
        if entry.group != Group::NONE {
            let mut ungrouped = self.ungrouped.lock().unwrap_or_else(PoisonError::into_inner);
            ungrouped.push((entry.group, key));
        }
        self.push(entry.slot);
    }

    fn push(&self, slot: Slot) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.push(slot);
        self.any.store(true, Ordering::Relaxed);
    }

    fn len(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn take(&self) -> Vec<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *slots)
    }
}

/// The group of entries that are never removed together.
pub const UNTRACKED: u64 = 0;

/// Which tracked keys share a group. Two groups of one number lose their entries together, which
/// costs a load and nothing else.
#[derive(Default)]
struct Groups(HashMap<Group, HashSet<Key, RandomState>, RandomState>);

impl Groups {
    fn add(&mut self, group: Group, key: &[u8]) {
        self.0.entry(group).or_default().insert(key.into());
    }

    fn remove(&mut self, group: Group, key: &[u8]) {
        if let Some(keys) = self.0.get_mut(&group) {
            keys.remove(key);
            if keys.is_empty() {
                self.0.remove(&group);
            }
        }
    }

    fn take(&mut self, group: Group) -> HashSet<Key, RandomState> {
        self.0.remove(&group).unwrap_or_default()
    }
}

/// A bounded map from key to slot and expiry.
pub struct LocalIndex {
    cache: Cache<Key, Entry, RandomState>,
    freed: Arc<Freed>,
    /// Taken slots, ready for use.
    free: Vec<Slot>,
    /// Which keys are removed together.
    groups: Groups,
    /// Slots ever handed out; those below this are live, freed or free.
    created: u32,
    max_entries: u64,
    eviction: Eviction,
}

impl LocalIndex {
    /// An empty index for `max_entries` keys, at most [`MAX_ENTRIES`]. With 0 every insert is
    /// freed at once.
    #[must_use]
    pub fn new(max_entries: u64, eviction: Eviction) -> Self {
        let max_entries = max_entries.min(MAX_ENTRIES);
        let freed = Arc::new(Freed::default());
        let listener = Arc::clone(&freed);
        let cache = Cache::builder()
            .max_capacity(max_entries)
            .eviction_policy(match eviction {
                Eviction::Lru => EvictionPolicy::lru(),
                Eviction::TinyLfu => EvictionPolicy::tiny_lfu(),
            })
            .eviction_listener(move |key, entry: Entry, _| listener.note(key, entry))
            .build_with_hasher(RandomState::default());
        Self {
            cache,
            freed,
            free: Vec::new(),
            groups: Groups::default(),
            created: 0,
            max_entries,
            eviction,
        }
    }

    /// The slot of `key`, unless its entry is over at `now` (`now >= expires_at`, nanoseconds); then
    /// the entry is removed.
    #[must_use]
    pub fn get(&self, key: &[u8], now: u64) -> Option<Slot> {
        let entry = self.cache.get(key)?;
        if now < entry.expires_at {
            return Some(entry.slot);
        }
        self.cache.invalidate(key);
        None
    }

    /// Gives `key` a slot until `expires_at` (nanoseconds), in place of one it has. `group` is the
    /// number under which entries are removed together, [`UNTRACKED`] for none.
    ///
    /// The index is within its bound again when this returns, so other slots, and with
    /// [`Eviction::TinyLfu`] the new one itself, may now be among the freed ones.
    ///
    /// # Panics
    /// When 2^26 freed slots have not been taken.
    pub fn insert(&mut self, key: &[u8], expires_at: u64, group: u64) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            assert!(self.created < SLOTS, "freed slots were never taken");
            self.created += 1;
            Slot(self.created - 1)
        });
        if self.max_entries == 0 {
            // moka then takes no entry at all, and tells no one.
            self.freed.push(slot);
            return slot;
        }
        let entry = Entry {
            expires_at,
            group: Group::of(group),
            slot,
        };
        self.cache.insert(key.into(), entry);
        // After the insert: the entry it replaced has been noted as gone.
        self.forget_gone();
        if group != UNTRACKED {
            self.groups.add(Group::of(group), key);
        }
        self.settle();
        slot
    }

    /// Removes every entry of a group.
    pub fn remove_group(&mut self, group: u64) {
        for key in self.groups.take(Group::of(group)) {
            self.cache.invalidate(&key);
        }
        self.forget_gone();
    }

    fn forget_gone(&mut self) {
        let mut gone = self.freed.ungrouped.lock().unwrap_or_else(PoisonError::into_inner);
        for (group, key) in gone.drain(..) {
            self.groups.remove(group, &key);
        }
    }

    /// Whether `key`, just inserted, was kept. A refusal that is not decided yet counts as kept.
    #[must_use]
    pub fn keeps(&self, key: &[u8]) -> bool {
        self.eviction == Eviction::Lru || self.cache.contains_key(key)
    }

    /// Removes `key`. False when it had no entry.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.cache.remove(key).is_some()
    }

    /// How many keys have a slot, expired ones that nobody asked for included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.created as usize - self.free.len() - self.freed.len()
    }

    /// True when no key has a slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether [`Self::take_freed`] has something to give. One load.
    #[must_use]
    pub fn freed_pending(&self) -> bool {
        self.freed.any.load(Ordering::Relaxed)
    }

    /// The slots freed since the last call, each once. They can be given out again from now on, so
    /// their values must be dropped before the next insert.
    pub fn take_freed(&mut self) -> Vec<Slot> {
        let freed = self.freed.take();
        self.free.extend_from_slice(&freed);
        freed
    }

    /// Brings the index back within its bound, which moka by itself does up to 64 inserts late.
    ///
    /// moka also forgets reads of entries that it has not filed yet. With few entries that would
    /// evict one just read, so a small index is brought up to date each time: half a microsecond
    /// more on an insert of as much. In a large one, the newest entries are far from being evicted.
    fn settle(&self) {
        if self.max_entries <= EXACT_UP_TO {
            self.cache.run_pending_tasks();
        }
        while self.len() as u64 > self.max_entries {
            let before = self.len();
            self.cache.run_pending_tasks();
            if self.len() == before {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
