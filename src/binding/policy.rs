//! `DialCacheKeyConfig` as it crosses the boundary.

use napi_derive::napi;

use crate::core::policy::{Leaf, Leaves};

/// A configuration's leaves. A number that is not one is `NaN`.
#[napi(object)]
#[derive(Clone, Copy, Default)]
pub struct PolicyLeaves {
    /// Seconds.
    pub ttl_local: Option<f64>,
    /// Seconds.
    pub ttl_remote: Option<f64>,
    /// Percent.
    pub ramp_local: Option<f64>,
    /// Percent.
    pub ramp_remote: Option<f64>,
    /// Whether values are memoised for the outermost scope.
    pub request_local: Option<bool>,
    /// Whether calls of one key share a flight.
    pub coalesce: Option<bool>,
    /// Percent.
    pub shadow_ramp: Option<f64>,
    /// Whether differing values may be logged.
    pub log_mismatches: Option<bool>,
}

impl From<PolicyLeaves> for Leaves {
    fn from(leaves: PolicyLeaves) -> Self {
        Self {
            ttl_local: leaf(leaves.ttl_local),
            ttl_remote: leaf(leaves.ttl_remote),
            ramp_local: leaf(leaves.ramp_local),
            ramp_remote: leaf(leaves.ramp_remote),
            request_local: leaves.request_local,
            coalesce: leaves.coalesce,
            shadow_ramp: leaf(leaves.shadow_ramp),
            log_mismatches: leaves.log_mismatches,
        }
    }
}

fn leaf(number: Option<f64>) -> Leaf {
    match number {
        None => Leaf::Absent,
        Some(number) if number.is_nan() => Leaf::Invalid,
        Some(number) => Leaf::Number(number),
    }
}
