//! Arming and disarming deadlines beside others that stay pending.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dialcache_native::core::deadline::Deadlines;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("deadline");
    for pending in [0_u32, 128, 10_000] {
        let mut deadlines = Deadlines::new();
        for id in 0..pending {
            deadlines.arm(id, u64::from(id), true);
        }
        let mut at = u64::from(pending);

        group.bench_function(format!("arm_disarm/latest/{pending}"), |b| {
            b.iter(|| {
                at += 1;
                deadlines.arm(pending, at, true);
                deadlines.disarm(black_box(pending))
            });
        });
        group.bench_function(format!("arm_disarm/earliest/{pending}"), |b| {
            b.iter(|| {
                deadlines.arm(pending, 0, true);
                deadlines.disarm(black_box(pending))
            });
        });
        if pending > 0 {
            let mut id = 0;
            group.bench_function(format!("replies_in_any_order/{pending}"), |b| {
                b.iter(|| {
                    id = (id + 7919) % pending;
                    at += 1;
                    deadlines.disarm(black_box(id));
                    deadlines.arm(id, at, true);
                });
            });
            group.bench_function(format!("pop_due_arm/{pending}"), |b| {
                b.iter(|| {
                    at += 1;
                    let id = deadlines.pop_due(u64::MAX).expect("always some pending");
                    deadlines.arm(id, at, true);
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
