//! The local index: hits, misses, inserts with room, and inserts that must evict.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use dialcache_native::core::local::{Eviction, LocalIndex};

const NEVER: u64 = u64::MAX;
const ENTRIES: usize = 10_000;

fn key(number: usize) -> Vec<u8> {
    format!("users-api:user_id:{number}#GetUser").into_bytes()
}

fn filled(eviction: Eviction) -> LocalIndex {
    let mut index = LocalIndex::new(ENTRIES as u64, eviction);
    for number in 0..ENTRIES {
        index.insert(&key(number), NEVER, 0);
        index.take_freed();
    }
    index
}

/// Walks all of 0..ENTRIES in an order that no prefetcher guesses.
fn scattered() -> impl FnMut() -> usize {
    let mut at = 0;
    move || {
        at = (at + 7919) % ENTRIES;
        at
    }
}

fn bench(criterion: &mut Criterion) {
    let keys: Vec<_> = (0..ENTRIES).map(key).collect();
    for (name, eviction) in [("lru", Eviction::Lru), ("tiny_lfu", Eviction::TinyLfu)] {
        let mut group = criterion.benchmark_group(format!("index/{name}"));
        let index = filled(eviction);
        group.bench_function("hit_hot", |b| b.iter(|| index.get(black_box(&keys[7]), 1)));

        let mut next = scattered();
        group.bench_function("hit_scattered", |b| {
            b.iter(|| index.get(black_box(&keys[next()]), 1));
        });
        let absent = key(ENTRIES);
        group.bench_function("miss", |b| b.iter(|| index.get(black_box(&absent), 1)));

        let mut index = filled(eviction);
        let mut new = ENTRIES;
        group.bench_function("insert_full", |b| {
            b.iter_batched(
                || {
                    new += 1;
                    key(new)
                },
                |key| {
                    let slot = index.insert(&key, NEVER, 0);
                    if index.freed_pending() {
                        black_box(index.take_freed());
                    }
                    slot
                },
                BatchSize::SmallInput,
            );
        });
        let mut index = filled(eviction);
        group.bench_function("replace", |b| {
            b.iter(|| {
                let slot = index.insert(black_box(&keys[next()]), NEVER, 0);
                black_box(index.take_freed());
                slot
            });
        });
        group.bench_function("insert_1000_with_room", |b| {
            b.iter_batched_ref(
                || LocalIndex::new(ENTRIES as u64, eviction),
                |index| {
                    for key in &keys[..1_000] {
                        black_box(index.insert(key, NEVER, 0));
                    }
                },
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
