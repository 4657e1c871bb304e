//! Sealing and opening payloads, compressed and not.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dialcache_native::core::envelope::{Compression, Payload, open, seal};

const RECORD: &str = r#"{"id":1234567,"name":"Ada Lovelace","tags":["admin","beta"],"score":0.75},"#;

fn bench(criterion: &mut Criterion) {
    let compression = Some(Compression {
        threshold_bytes: 4_096,
        level: 3,
    });
    let mut group = criterion.benchmark_group("envelope");
    for size in [1_000, 16_000, 256_000] {
        let mut text = RECORD.repeat(size / RECORD.len() + 1);
        text.truncate(size);
        let payload = Payload::Text(text);
        group.throughput(Throughput::Bytes(size as u64));
        for (name, compression) in [("raw", None), ("zstd", compression)] {
            group.bench_function(BenchmarkId::new(format!("seal/{name}"), size), |b| {
                b.iter_batched(
                    || payload.clone(),
                    |payload| seal(black_box(payload), compression),
                    BatchSize::SmallInput,
                );
            });
            let sealed = seal(payload.clone(), compression).payload;
            group.bench_function(BenchmarkId::new(format!("open/{name}"), size), |b| {
                b.iter_batched(
                    || sealed.as_bytes().to_vec(),
                    |body| open(sealed.encoding(), black_box(body)),
                    BatchSize::SmallInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
