//! Building keys: what every call pays before its first lookup.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::key::KeyScheme;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("key");
    let scheme = KeyScheme::new("users-api", "user_id", "GetUser", false).expect("no braces");
    let tracked = KeyScheme::new("users-api", "user_id", "GetUser", true).expect("no braces");
    let mut out = String::with_capacity(256);
    for (name, scheme, id, args) in [
        ("plain", &scheme, "1234567", ""),
        ("tracked", &tracked, "1234567", ""),
        ("args", &scheme, "1234567", "?locale=en&page=3"),
        ("uuid", &scheme, "0b9a5c1e-0c55-4d1c-9d0e-7c8f1f4f2a10", ""),
        ("escaped", &scheme, "shops/12:items/34 é", ""),
    ] {
        group.bench_function(format!("logical/{name}"), |b| {
            b.iter(|| {
                out.clear();
                scheme
                    .write_logical(black_box(id), black_box(args), &mut out)
                    .expect("no braces");
                black_box(out.len())
            });
        });
    }
    group.bench_function("value_key", |b| {
        b.iter(|| scheme.value_key(black_box("1234567"), ""));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
