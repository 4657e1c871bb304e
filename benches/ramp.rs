//! Deciding whether a partial ramp admits a key.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::ramp::admits;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ramp");
    let ascii = "users-api:user_id:1234567?locale=en#GetUser";
    let wide = "users-api:user_id:1234567?locale=en#Größe";
    for (name, percent, key) in [
        ("full", 100.0, ascii),
        ("off", 0.0, ascii),
        ("partial", 50.0, ascii),
        ("partial_non_ascii", 50.0, wide),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| admits(black_box(percent), black_box(key), black_box("local")));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
