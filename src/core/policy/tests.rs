use proptest::prelude::*;

use super::*;

const NUMBERS_OUT_OF_TTL_RANGE: [f64; 10] = [
    0.0,
    -0.0,
    -1.0,
    0.5,
    1.5,
    31_536_001.0,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const NUMBERS_OUT_OF_RAMP_RANGE: [f64; 6] = [
    -1.0,
    -f64::MIN_POSITIVE,
    100.000_001,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn with_ttl(ttl: f64) -> Leaves {
    Leaves {
        ttl_local: Leaf::Number(ttl),
        ttl_remote: Leaf::Number(ttl),
        ..Leaves::default()
    }
}

fn bad(numbers: &[f64]) -> Vec<Leaf> {
    let numbers = numbers.iter().copied().map(Leaf::Number);
    numbers.chain([Leaf::Invalid]).collect()
}

#[test]
fn nothing_given_turns_the_layers_off() {
    let leaves = Leaves::default();
    assert_eq!(
        leaves.resolve(),
        Policy {
            local: LayerPolicy::Off(OffReason::PolicyDisabled),
            remote: LayerPolicy::Off(OffReason::PolicyDisabled),
            request_local: false,
            coalesce: true,
            shadow: ShadowPolicy {
                ramp: Some(0.0),
                log_mismatches: false,
                fill_ttl_sec: 0,
            },
        }
    );
}

#[test]
fn a_ttl_without_a_ramp_is_for_every_key() {
    for ttl_sec in [1, 60, MAX_TTL_SEC] {
        let leaves = with_ttl(f64::from(ttl_sec));
        let on = LayerPolicy::On { ttl_sec, ramp: 100.0 };
        assert_eq!((leaves.resolve().local, leaves.resolve().remote), (on, on));
    }
}

#[test]
fn a_bad_ttl_turns_off_its_own_layer() {
    for leaf in bad(&NUMBERS_OUT_OF_TTL_RANGE) {
        let policy = Leaves {
            ttl_local: leaf,
            ..with_ttl(60.0)
        }
        .resolve();
        assert_eq!(policy.local, LayerPolicy::Off(OffReason::InvalidTtl), "{leaf:?}");
        assert!(matches!(policy.remote, LayerPolicy::On { ttl_sec: 60, .. }));
    }
}

#[test]
fn a_bad_ramp_turns_off_its_own_layer() {
    for leaf in bad(&NUMBERS_OUT_OF_RAMP_RANGE) {
        let policy = Leaves {
            ramp_remote: leaf,
            ..with_ttl(60.0)
        }
        .resolve();
        assert_eq!(policy.remote, LayerPolicy::Off(OffReason::InvalidRamp), "{leaf:?}");
        assert!(matches!(policy.local, LayerPolicy::On { ttl_sec: 60, .. }));
    }
}

#[test]
fn the_reason_named_is_the_first_of_no_ttl_bad_ttl_bad_ramp_ramp_zero() {
    let local = |ttl_local, ramp_local| {
        Leaves {
            ttl_local,
            ramp_local,
            ..Leaves::default()
        }
        .resolve()
        .local
    };
    let ttl = Leaf::Number(60.0);
    for ramp in [Leaf::Absent, Leaf::Invalid, Leaf::Number(0.0)] {
        assert_eq!(local(Leaf::Absent, ramp), LayerPolicy::Off(OffReason::PolicyDisabled));
        assert_eq!(local(Leaf::Invalid, ramp), LayerPolicy::Off(OffReason::InvalidTtl));
    }
    assert_eq!(local(ttl, Leaf::Invalid), LayerPolicy::Off(OffReason::InvalidRamp));
    for zero in [0.0, -0.0] {
        let ramp = Leaf::Number(zero);
        assert_eq!(local(ttl, ramp), LayerPolicy::Off(OffReason::RampedDown));
    }
    assert_eq!(
        local(ttl, Leaf::Number(f64::MIN_POSITIVE)),
        LayerPolicy::On {
            ttl_sec: 60,
            ramp: f64::MIN_POSITIVE,
        }
    );
}

#[test]
fn a_runtime_answer_covers_leaf_by_leaf() {
    let defaults = Leaves {
        ttl_local: Leaf::Number(10.0),
        ramp_local: Leaf::Number(50.0),
        request_local: Some(true),
        log_mismatches: Some(true),
        ..Leaves::default()
    };
    let runtime = Leaves {
        ttl_remote: Leaf::Number(20.0),
        ramp_local: Leaf::Number(5.0),
        coalesce: Some(false),
        request_local: Some(false),
        shadow_ramp: Leaf::Number(1.0),
        ..Leaves::default()
    };
    assert_eq!(
        defaults.overlay(runtime),
        Leaves {
            ttl_local: Leaf::Number(10.0),
            ttl_remote: Leaf::Number(20.0),
            ramp_local: Leaf::Number(5.0),
            ramp_remote: Leaf::Absent,
            request_local: Some(false),
            coalesce: Some(false),
            shadow_ramp: Leaf::Number(1.0),
            log_mismatches: Some(true),
        }
    );
}

#[test]
fn a_bad_runtime_leaf_covers_a_good_default() {
    let policy = with_ttl(60.0)
        .overlay(Leaves {
            ttl_local: Leaf::Invalid,
            ..Leaves::default()
        })
        .resolve();
    assert_eq!(policy.local, LayerPolicy::Off(OffReason::InvalidTtl));
}

#[test]
fn a_bad_shadow_ramp_turns_shadowing_off_and_nothing_else() {
    for leaf in bad(&NUMBERS_OUT_OF_RAMP_RANGE) {
        let policy = Leaves {
            shadow_ramp: leaf,
            ..with_ttl(60.0)
        }
        .resolve();
        assert_eq!(policy.shadow.ramp, None);
        assert!(matches!(policy.local, LayerPolicy::On { .. }));
    }
}

#[test]
fn reasons_are_labelled_as_the_metric_has_them() {
    for (reason, label) in [
        (OffReason::PolicyDisabled, "policy_disabled"),
        (OffReason::InvalidTtl, "invalid_ttl"),
        (OffReason::InvalidRamp, "invalid_ramp"),
        (OffReason::RampedDown, "ramped_down"),
    ] {
        assert_eq!(reason.label(), label);
    }
}

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        Just(Leaf::Absent),
        Just(Leaf::Invalid),
        any::<f64>().prop_map(Leaf::Number),
        (0.0..200.0).prop_map(Leaf::Number),
        (0..40_000_000_u32).prop_map(|whole| Leaf::Number(f64::from(whole))),
    ]
}

proptest! {
    #[test]
    fn a_layer_that_is_on_is_within_its_ranges(
        ttl_local in leaf(), ttl_remote in leaf(), ramp_local in leaf(), ramp_remote in leaf(),
    ) {
        let leaves = Leaves { ttl_local, ttl_remote, ramp_local, ramp_remote, ..Leaves::default() };
        let policy = leaves.resolve();
        for layer in [policy.local, policy.remote] {
            if let LayerPolicy::On { ttl_sec, ramp } = layer {
                prop_assert!((1..=MAX_TTL_SEC).contains(&ttl_sec));
                prop_assert!(ramp > 0.0 && ramp <= 100.0);
            }
        }
    }
}
