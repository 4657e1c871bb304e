//! Whole calls through the engine: what the core adds to a call, without the boundary and without I/O.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::chain::{AfterRead, ReadResult};
use dialcache_native::core::engine::{
    Begin, CallOptions, Engine, EngineOptions, Settled, UseCaseId, UseCaseOptions, WriteResult,
};
use dialcache_native::core::flight::FlightId;
use dialcache_native::core::local::Eviction;
use dialcache_native::core::policy::{Leaf, Leaves};

const ENTRIES: usize = 10_000;
/// More ids than entries, visited in an order in which each is evicted before it comes again.
const IDS: usize = 2 * ENTRIES;
const STRIDE: usize = 7_919;
const NOW: u64 = 1_000_000_000;

struct Layers {
    local: bool,
    remote: bool,
    /// Percent; below 100 the whole key is built and hashed.
    ramp: f64,
}

const LOCAL: Layers = Layers {
    local: true,
    remote: false,
    ramp: 100.0,
};
const REMOTE: Layers = Layers {
    local: false,
    remote: true,
    ramp: 100.0,
};
const BOTH: Layers = Layers {
    local: true,
    remote: true,
    ramp: 100.0,
};

fn engine(layers: &Layers) -> (Engine, UseCaseId) {
    let mut engine = Engine::new(EngineOptions {
        namespace: "users-api".into(),
        local_max_size: ENTRIES as u64,
        shadow_max_in_flight: 1,
        eviction: Eviction::Lru,
        remote: layers.remote,
        times_reads: true,
    });
    let ttl = |on: bool| if on { Leaf::Number(600.0) } else { Leaf::Absent };
    let leaves = Leaves {
        ttl_local: ttl(layers.local),
        ttl_remote: ttl(layers.remote),
        ramp_local: Leaf::Number(layers.ramp),
        ..Leaves::default()
    };
    let use_case = engine
        .register(&UseCaseOptions {
            key_type: "user_id",
            use_case: "GetUser",
            tracked: false,
            call: CallOptions {
                policy: leaves.resolve(),
                read_timeout: Duration::from_millis(50),
                source_timeout: Some(Duration::from_secs(2)),
                read_hedge: None,
            },
        })
        .expect("plain names");
    (engine, use_case)
}

fn ids() -> Vec<String> {
    (0..IDS).map(|number| format!("user:{number}")).collect()
}

fn begin(engine: &mut Engine, use_case: UseCaseId, id: &str) -> Begin {
    engine
        .begin(use_case, None, black_box(id), "", NOW)
        .expect("well-formed ids")
}

fn run_source(engine: &mut Engine, flight: FlightId) -> Settled {
    engine.source_started(flight, NOW);
    let settled = engine.source_settled(flight, true, NOW);
    if engine.has_freed() {
        black_box(engine.take_freed());
    }
    settled
}

fn miss(engine: &mut Engine, use_case: UseCaseId, id: &str) -> Settled {
    match begin(engine, use_case, id) {
        Begin::Source(flight) => run_source(engine, flight),
        Begin::Read(flight) => {
            assert_eq!(
                engine.read_settled(flight, ReadResult::Miss, NOW),
                AfterRead::Miss,
                "a clean miss"
            );
            let settled = run_source(engine, flight);
            engine.write_settled(flight, WriteResult::Stored, NOW);
            settled
        }
        other => panic!("not a miss: {other:?}"),
    }
}

fn read_hit(engine: &mut Engine, use_case: UseCaseId, id: &str) -> FlightId {
    let Begin::Read(flight) = begin(engine, use_case, id) else {
        panic!("not a leader that reads");
    };
    assert_eq!(
        engine.read_settled(flight, ReadResult::Hit, NOW),
        AfterRead::Load,
        "in time"
    );
    black_box(engine.loaded(flight, NOW));
    if engine.has_freed() {
        black_box(engine.take_freed());
    }
    flight
}

fn bench(criterion: &mut Criterion) {
    let ids = ids();
    let mut at = 0;
    let mut next = || {
        at = (at + STRIDE) % IDS;
        &*ids[at]
    };
    let mut group = criterion.benchmark_group("chain");

    for (name, ramp) in [("local_hit", 100.0), ("local_hit_ramped", 99.999_999)] {
        let (mut engine, use_case) = engine(&Layers { ramp, ..LOCAL });
        miss(&mut engine, use_case, "user:123");
        group.bench_function(name, |b| b.iter(|| begin(&mut engine, use_case, "user:123")));
    }

    let (mut local, use_case) = engine(&LOCAL);
    group.bench_function("miss_source_publish", |b| {
        b.iter(|| miss(&mut local, use_case, next()));
    });

    let (mut both, use_case) = engine(&BOTH);
    group.bench_function("miss_read_miss_source_publish_write", |b| {
        b.iter(|| miss(&mut both, use_case, next()));
    });

    let (mut remote, use_case) = engine(&REMOTE);
    group.bench_function("miss_read_hit", |b| {
        b.iter(|| read_hit(&mut remote, use_case, next()));
    });

    let (mut both, use_case) = engine(&BOTH);
    group.bench_function("miss_read_hit_publish", |b| {
        b.iter(|| read_hit(&mut both, use_case, next()));
    });

    // 511 others wait meanwhile: maps and deadlines are as full as under load.
    let (mut busy, use_case) = engine(&REMOTE);
    for number in 0..511 {
        begin(&mut busy, use_case, &format!("waits:{number}"));
    }
    group.bench_function("miss_read_hit_beside_511", |b| {
        b.iter(|| read_hit(&mut busy, use_case, next()));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
