//! A call of a source in which nothing fires: what the policies cost when they are not needed.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::source::{
    Call, FailoverOptions, HedgeOptions, Outcome, RetryOptions, Source, SourceOptions, Step,
};

const MS: u64 = 1_000_000;

fn bench(criterion: &mut Criterion) {
    let nothing = SourceOptions {
        endpoints: 2,
        idempotent: true,
        ..SourceOptions::default()
    };
    let everything = SourceOptions {
        timeout_ms: Some(2_000.0),
        hedge: Some(HedgeOptions::default()),
        failover: Some(FailoverOptions::default()),
        retry: Some(RetryOptions::default()),
        breaker: true,
        ..nothing.clone()
    };
    let mut group = criterion.benchmark_group("source");
    for (name, options) in [("nothing_named", nothing), ("everything_named", everything)] {
        let mut source = Source::new(options).expect("valid options");
        let call = Call::new(source.plan(None));
        let mut steps: Vec<Step> = Vec::new();
        let mut now = 0;
        let mut others = Vec::new();
        for _ in 0..128 {
            others.push(source.start(&call, now, &mut steps));
        }
        group.bench_function(name, |b| {
            b.iter(|| {
                now += MS / 10;
                let op = source.start(black_box(&call), now, &mut steps);
                // Among 128, the oldest settles.
                let index = usize::try_from(now / (MS / 10) % 128).unwrap_or(0);
                let settled = std::mem::replace(&mut others[index], op);
                source.settled(settled, 1, Outcome::Ok, now, &mut steps);
                steps.clear();
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
