//! Joining flights, and leading and landing one, beside others that are under way.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::chain::Chain;
use dialcache_native::core::engine::{ShadowPlan, UseCaseId};
use dialcache_native::core::flight::{FlightId, Flights, NewFlight};

const NOW: u64 = 1;
/// A stride that visits all of 10,000 keys in an order that no prefetcher guesses.
const STRIDE: usize = 7_919;

fn key(number: usize) -> Vec<u8> {
    format!("\0\0\0\0user:{number}").into_bytes()
}

fn lead(flights: &mut Flights, key: &[u8]) -> FlightId {
    flights.lead(
        key,
        true,
        NewFlight {
            use_case: UseCaseId(0),
            chain: Chain::new(true, false),
            group: 0,
            local_ttl: 60_000_000_000,
            remote_ttl_ms: 600_000,
            started_at: NOW,
            read_timeout: 50_000_000,
            source_timeout: Some(2_000_000_000),
            shadow: ShadowPlan::None,
        },
    )
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flight");
    for under_way in [0_usize, 1, 10_000] {
        let keys: Vec<_> = (0..under_way).map(key).collect();
        let mut flights = Flights::default();
        for key in &keys {
            lead(&mut flights, key);
        }
        let absent = key(usize::MAX);

        // What every call asks first: there is nothing to hash while nobody is under way.
        group.bench_function(format!("none_of_this_key/{under_way}"), |b| {
            b.iter(|| !flights.nothing_to_join() && flights.join(black_box(&absent), NOW).is_some());
        });
        if under_way > 0 {
            let mut at = 0;
            group.bench_function(format!("join/{under_way}"), |b| {
                b.iter(|| {
                    at = (at + STRIDE) % under_way;
                    flights.join(black_box(&keys[at]), NOW)
                });
            });
        }
        group.bench_function(format!("lead_land/{under_way}"), |b| {
            b.iter(|| {
                let id = lead(&mut flights, black_box(&absent));
                flights.land(id);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
