use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

const NEVER: u64 = u64::MAX;

fn index(max_entries: u64) -> LocalIndex {
    LocalIndex::new(max_entries, Eviction::Lru)
}

fn pending(index: &LocalIndex) -> Vec<Slot> {
    index.freed.slots.lock().unwrap().clone()
}

/// Without counting as a use, unlike `get`.
fn holds(index: &LocalIndex, key: &[u8]) -> bool {
    index.cache.contains_key(key)
}

#[test]
fn a_key_keeps_its_slot_until_the_entry_is_over() {
    let mut index = index(10);
    let slot = index.insert(b"a", 100, 0);
    assert_eq!(index.get(b"a", 0), Some(slot));
    assert_eq!(index.get(b"a", 99), Some(slot));
    assert_eq!(index.get(b"b", 99), None);
    assert!(!index.freed_pending());

    assert_eq!(index.get(b"a", 100), None, "over at its very instant");
    assert!(!holds(&index, b"a"), "and then removed");
    assert_eq!(index.len(), 0);
    assert_eq!(index.take_freed(), [slot]);
    assert_eq!(index.get(b"a", 0), None);
}

#[test]
fn a_replaced_entry_frees_its_slot_at_once() {
    let mut index = index(10);
    let old = index.insert(b"a", 100, 0);
    let new = index.insert(b"a", 200, 0);
    assert_ne!(old, new, "the old value still stands in its place");
    assert!(index.freed_pending());
    assert_eq!(index.len(), 1);
    assert_eq!(index.take_freed(), [old]);
    assert_eq!(index.get(b"a", 150), Some(new), "with the new expiry");
}

#[test]
fn a_removed_entry_frees_its_slot_at_once() {
    let mut index = index(10);
    let slot = index.insert(b"a", NEVER, 0);
    assert!(index.remove(b"a"));
    assert!(!index.remove(b"a"));
    assert_eq!(pending(&index), [slot]);
    assert!(index.is_empty());
}

#[test]
fn a_freed_slot_is_reused_only_after_it_was_taken() {
    let mut index = index(10);
    let first = index.insert(b"a", NEVER, 0);
    index.remove(b"a");
    let second = index.insert(b"b", NEVER, 0);
    assert_ne!(first, second);
    assert_eq!(index.take_freed(), [first]);
    assert!(!index.freed_pending());
    assert_eq!(index.take_freed(), []);
    assert_eq!(index.insert(b"c", NEVER, 0), first);
}

#[test]
fn slots_are_dense() {
    let mut index = index(100);
    for number in 0..10_000_u32 {
        let slot = index.insert(&number.to_le_bytes(), NEVER, 0);
        assert!(slot.0 <= 100, "{slot:?} although only 100 are live");
        index.take_freed();
    }
    assert_eq!(index.len(), 100);
}

#[test]
fn keys_are_compared_whole() {
    let mut index = index(10_000);
    let long = vec![b'x'; 4_000];
    let slots: HashSet<_> = (0..=4_000)
        .map(|length| index.insert(&long[..length], NEVER, 0))
        .collect();
    assert_eq!(slots.len(), 4_001);
    assert_eq!(index.len(), 4_001);
}

#[test]
fn the_least_recently_used_entry_makes_room() {
    let mut index = index(2);
    index.insert(b"a", NEVER, 0);
    let b = index.insert(b"b", NEVER, 0);
    assert!(index.get(b"a", 0).is_some());
    index.insert(b"c", NEVER, 0);
    assert!(holds(&index, b"a"), "read after b was written");
    assert_eq!(index.take_freed(), [b]);
}

#[test]
fn a_full_index_is_within_its_bound_after_every_insert() {
    for eviction in [Eviction::Lru, Eviction::TinyLfu] {
        for max_entries in [0, 1, 2, 3, 63, 64, 65, 500] {
            let mut index = LocalIndex::new(max_entries, eviction);
            for number in 0..2_000_u32 {
                // Every other key is one that is already there, perhaps.
                let key = if number % 2 == 0 { number } else { number / 3 };
                let slot = index.insert(&key.to_le_bytes(), NEVER, 0);
                let freed = index.take_freed();
                let held = index.cache.entry_count();
                assert_eq!(index.len() as u64, held, "{eviction:?}, {max_entries}");
                assert!(held <= max_entries, "{eviction:?}, {max_entries}");
                let kept = !freed.contains(&slot);
                assert_eq!(holds(&index, &key.to_le_bytes()), kept);
                let lru_keeps = eviction == Eviction::Lru && max_entries > 0;
                assert!(kept || !lru_keeps, "LRU always keeps the newest");
            }
        }
    }
}

#[test]
fn a_large_index_is_within_its_bound_after_every_insert() {
    for eviction in [Eviction::Lru, Eviction::TinyLfu] {
        let max_entries = EXACT_UP_TO + 100;
        let mut index = LocalIndex::new(max_entries, eviction);
        for number in 0..4_000_u32 {
            let key = if number % 2 == 0 { number } else { number / 3 };
            index.insert(&key.to_le_bytes(), NEVER, 0);
            assert!(index.len() as u64 <= max_entries, "{eviction:?} at {number}");
            if number % 100 == 0 {
                index.take_freed();
                assert_eq!(index.len(), index.cache.iter().count());
            }
        }
        assert_eq!(index.len() as u64, max_entries);
    }
}

#[test]
fn tiny_lfu_keeps_popular_entries_through_a_scan_and_frees_each_refused_slot() {
    let mut index = LocalIndex::new(100, Eviction::TinyLfu);
    let hot: Vec<_> = (0..100_u32).map(u32::to_le_bytes).collect();
    for key in &hot {
        index.insert(key, NEVER, 0);
    }
    for _ in 0..10 {
        for key in &hot {
            assert!(index.get(key, 0).is_some());
        }
    }
    for number in 1_000..2_000_u32 {
        let slot = index.insert(&number.to_le_bytes(), NEVER, 0);
        assert_eq!(index.take_freed(), [slot], "refused, and freed at once");
    }
    assert!(hot.iter().all(|key| holds(&index, key)));
}

#[test]
fn the_bound_is_itself_bounded() {
    assert_eq!(index(u64::MAX).max_entries, MAX_ENTRIES);
    assert!(2 * MAX_ENTRIES <= u64::from(SLOTS));
}

#[derive(Debug, Clone)]
enum Step {
    Insert { key: u8, ttl: u64 },
    Get { key: u8 },
    Remove { key: u8 },
    Wait { by: u64 },
    Take,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..12_u8;
    let step = prop_oneof![
        6 => (key.clone(), 0..20_u64).prop_map(|(key, ttl)| Step::Insert { key, ttl }),
        4 => key.clone().prop_map(|key| Step::Get { key }),
        1 => key.prop_map(|key| Step::Remove { key }),
        2 => (0..8_u64).prop_map(|by| Step::Wait { by }),
        1 => Just(Step::Take),
    ];
    prop::collection::vec(step, 1..200)
}

/// What the holder of the values knows, told only by the index's answers.
#[derive(Debug, Default)]
struct Holder {
    live: HashMap<u8, (Slot, u64)>,
    /// Freed and not yet taken, in the order it happened.
    freed: Vec<Slot>,
    free: HashSet<Slot>,
    created: u32,
    /// Keys by last use, for the LRU policy.
    used: Vec<u8>,
}

impl Holder {
    fn use_now(&mut self, key: u8) {
        self.used.retain(|other| *other != key);
        self.used.push(key);
    }

    fn free_key(&mut self, key: u8) {
        if let Some((slot, _)) = self.live.remove(&key) {
            self.freed.push(slot);
            self.used.retain(|other| *other != key);
        }
    }

    /// Follows evictions, which the index alone decides on; each must be of a live slot.
    fn see_evictions(&mut self, index: &LocalIndex) -> Vec<u8> {
        let mut evicted = Vec::new();
        for slot in pending(index).split_off(self.freed.len()) {
            let owner = self.live.iter().find(|(_, entry)| entry.0 == slot);
            let key = *owner.expect("only a live slot is freed, and once").0;
            self.free_key(key);
            evicted.push(key);
        }
        evicted
    }
}

fn run(eviction: Eviction, max_entries: u64, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut index = LocalIndex::new(max_entries, eviction);
    let mut holder = Holder::default();
    let mut now = 1_000;
    for step in steps {
        match step {
            Step::Insert { key, ttl } => {
                let slot = index.insert(&[key], now + ttl, 0);
                if !holder.free.remove(&slot) {
                    prop_assert_eq!(slot, Slot(holder.created), "neither taken nor new");
                    holder.created += 1;
                }
                holder.free_key(key);
                holder.live.insert(key, (slot, now + ttl));
                holder.use_now(key);
                let oldest = holder.used.clone();
                let evicted = holder.see_evictions(&index);
                if eviction == Eviction::Lru {
                    prop_assert_eq!(&evicted[..], &oldest[..evicted.len()]);
                }
                prop_assert!(holder.live.len() as u64 <= max_entries);
            }
            Step::Get { key } => {
                let entry = holder.live.get(&key).copied();
                let valid = entry.filter(|entry| now < entry.1).map(|entry| entry.0);
                prop_assert_eq!(index.get(&[key], now), valid);
                match valid {
                    Some(_) => holder.use_now(key),
                    None => holder.free_key(key),
                }
            }
            Step::Remove { key } => {
                prop_assert_eq!(index.remove(&[key]), holder.live.contains_key(&key));
                holder.free_key(key);
            }
            Step::Wait { by } => now += by,
            Step::Take => {
                let taken = index.take_freed();
                prop_assert_eq!(&taken, &holder.freed);
                holder.free.extend(holder.freed.drain(..));
            }
        }
        prop_assert_eq!(&pending(&index), &holder.freed);
        prop_assert_eq!(index.freed_pending(), !holder.freed.is_empty());
        prop_assert_eq!(index.len(), holder.live.len());
        prop_assert_eq!(index.is_empty(), holder.live.is_empty());
        for key in 0..12 {
            prop_assert_eq!(holds(&index, &[key]), holder.live.contains_key(&key));
        }
        let accounted = holder.live.len() + holder.freed.len() + holder.free.len();
        prop_assert_eq!(accounted, holder.created as usize);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_slot_is_live_once_freed_once_or_free(max_entries in 0..14_u64, steps in steps()) {
        run(Eviction::TinyLfu, max_entries, steps)?;
    }

    #[test]
    fn lru_evicts_exactly_the_least_recently_used(max_entries in 0..14_u64, steps in steps()) {
        run(Eviction::Lru, max_entries, steps)?;
    }
}

proptest! {
    #[test]
    fn a_group_is_never_taken_for_none(group in prop_oneof![any::<u64>(), 1_u64..4, u64::MAX - 4..=u64::MAX, Just(u64::from(u32::MAX))]) {
        prop_assume!(group != UNTRACKED);
        prop_assert_ne!(Group::of(group), Group::NONE);
        let mut index = LocalIndex::new(10, Eviction::Lru);
        index.insert(b"tracked", u64::MAX, group);
        index.insert(b"untracked", u64::MAX, UNTRACKED);
        index.remove_group(group);
        prop_assert_eq!(index.get(b"tracked", 0), None);
        prop_assert!(index.get(b"untracked", 0).is_some());
    }
}
