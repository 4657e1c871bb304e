//! Counting one event.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::metrics::{Counter, Counters};

fn bench(criterion: &mut Criterion) {
    let counters = Counters::default();
    criterion.bench_function("counter/add", |b| {
        b.iter(|| black_box(&counters).add(black_box(Counter::LocalHit)));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
