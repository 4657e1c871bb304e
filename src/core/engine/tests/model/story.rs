//! What the model keeps of each leader, and how it judges a policy.

use super::super::*;
use super::READ_TIMEOUT;
use super::SOURCE_TIMEOUT;

/// What a leader does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    Reading,
    Loading,
    Sourcing { since: u64 },
    Writing { since: u64 },
    Over,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the story is told by what happened, not by a state machine"
)]
pub(super) struct Leader {
    pub flight: FlightId,
    pub use_case: usize,
    pub id: usize,
    pub started: u64,
    pub followers: u32,
    pub stage: Stage,
    /// Whether the process-local layer was on, and is to have the value.
    pub local: bool,
    /// Whether the Redis layer was on.
    pub read: bool,
    pub shared: bool,
    pub tracked: bool,
    pub clean: bool,
    /// What it would answer or has answered; no two leaders have the same.
    pub value: usize,
    pub invalidated: bool,
    pub kept: bool,
    pub linger_armed: bool,
}

impl Leader {
    pub fn unanswered(&self) -> bool {
        matches!(self.stage, Stage::Reading | Stage::Loading | Stage::Sourcing { .. })
    }

    pub fn joinable(&self, now: u64) -> bool {
        let open = match self.stage {
            Stage::Over => false,
            Stage::Writing { since } => !self.kept && now < since + READ_TIMEOUT,
            _ => true,
        };
        open && self.shared && !self.invalidated
    }

    pub fn deadline(&self) -> Option<u64> {
        match self.stage {
            Stage::Reading => Some(self.started + READ_TIMEOUT),
            Stage::Sourcing { since } => Some(since + SOURCE_TIMEOUT),
            Stage::Writing { since } if self.linger_armed => Some(since + READ_TIMEOUT),
            _ => None,
        }
    }

    pub fn read_is_late(&self, now: u64) -> bool {
        now >= self.started + READ_TIMEOUT
    }
}

/// Why a layer is off for a key, by the contract's words.
pub(super) fn off(ttl_sec: Option<f64>, ramp: Leaf, key: &str, layer: &str) -> Option<OffReason> {
    let Some(ttl_sec) = ttl_sec else {
        return Some(OffReason::PolicyDisabled);
    };
    if ttl_sec.fract() != 0.0 || !(1.0..=31_536_000.0).contains(&ttl_sec) {
        return Some(OffReason::InvalidTtl);
    }
    let percent = match ramp {
        Leaf::Absent => 100.0,
        Leaf::Number(percent) if (0.0..=100.0).contains(&percent) => percent,
        Leaf::Number(_) | Leaf::Invalid => return Some(OffReason::InvalidRamp),
    };
    (cohort(&format!("{key}:{layer}")) >= percent).then_some(OffReason::RampedDown)
}

/// FNV-1a in percent of its range. The keys here are ASCII.
fn cohort(text: &str) -> f64 {
    let mut hash = 2_166_136_261_u32;
    for unit in text.encode_utf16() {
        hash = (hash ^ u32::from(unit)).wrapping_mul(16_777_619);
    }
    f64::from(hash) / f64::from(u32::MAX) * 100.0
}
