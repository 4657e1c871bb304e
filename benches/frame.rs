//! Encoding and decoding frames.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dialcache_native::core::envelope::Payload;
use dialcache_native::core::frame::{decode, encode};

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    for size in [100, 1_000, 16_000, 256_000] {
        let payload = Payload::Text("x".repeat(size));
        let mut frame = Vec::new();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::new("encode", size), |b| {
            b.iter(|| {
                frame.clear();
                encode(1_700_000_000_000, black_box(&payload), &mut frame);
                black_box(frame.len())
            });
        });
        group.bench_function(BenchmarkId::new("decode", size), |b| {
            b.iter(|| decode(black_box(&frame)).is_ok());
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
