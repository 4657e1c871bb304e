//! What a use case's configuration switches on, leaf by leaf.
//!
//! Defaults are valid: the facade refuses bad ones when a use case is registered. What a provider
//! answers at run time overlays them, and a bad number there turns off its own layer only.

/// The longest TTL: 365 days, in seconds.
pub const MAX_TTL_SEC: u32 = 31_536_000;

/// One number of a configuration as JavaScript gave it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Leaf {
    /// Not given.
    #[default]
    Absent,
    /// A number, not yet checked.
    Number(f64),
    /// Something that is not a number.
    Invalid,
}

impl Leaf {
    fn or(self, fallback: Self) -> Self {
        if self == Self::Absent { fallback } else { self }
    }

    /// `Ok(None)` when absent.
    fn ttl_sec(self) -> Result<Option<u32>, ()> {
        match self {
            Self::Absent => Ok(None),
            Self::Number(sec) if sec.fract() == 0.0 && (1.0..=f64::from(MAX_TTL_SEC)).contains(&sec) =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a whole number between 1 and MAX_TTL_SEC"
                )]
                Ok(Some(sec as u32))
            }
            Self::Number(_) | Self::Invalid => Err(()),
        }
    }

    /// `Ok(None)` when absent.
    fn percent(self) -> Result<Option<f64>, ()> {
        match self {
            Self::Absent => Ok(None),
            Self::Number(percent) if (0.0..=100.0).contains(&percent) => Ok(Some(percent)),
            Self::Number(_) | Self::Invalid => Err(()),
        }
    }
}

/// A configuration before its numbers are checked: `DialCacheKeyConfig`, flattened.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Leaves {
    /// `ttlSec.local`, whole seconds from 1 to [`MAX_TTL_SEC`].
    pub ttl_local: Leaf,
    /// `ttlSec.remote`, whole seconds from 1 to [`MAX_TTL_SEC`].
    pub ttl_remote: Leaf,
    /// `ramp.local`, percent from 0 to 100; 100 when absent.
    pub ramp_local: Leaf,
    /// `ramp.remote`, percent from 0 to 100; 100 when absent.
    pub ramp_remote: Leaf,
    /// `requestLocal`; false when absent.
    pub request_local: Option<bool>,
    /// `coalesce`; true when absent.
    pub coalesce: Option<bool>,
    /// `shadow.ramp`, percent from 0 to 100; 0 when absent.
    pub shadow_ramp: Leaf,
    /// `shadow.logMismatches`; false when absent.
    pub log_mismatches: Option<bool>,
}

impl Leaves {
    /// These leaves with those of `runtime` laid over them; an absent one covers nothing.
    #[must_use]
    pub fn overlay(self, runtime: Self) -> Self {
        Self {
            ttl_local: runtime.ttl_local.or(self.ttl_local),
            ttl_remote: runtime.ttl_remote.or(self.ttl_remote),
            ramp_local: runtime.ramp_local.or(self.ramp_local),
            ramp_remote: runtime.ramp_remote.or(self.ramp_remote),
            request_local: runtime.request_local.or(self.request_local),
            coalesce: runtime.coalesce.or(self.coalesce),
            shadow_ramp: runtime.shadow_ramp.or(self.shadow_ramp),
            log_mismatches: runtime.log_mismatches.or(self.log_mismatches),
        }
    }

    /// What these leaves mean for a call. Never fails: a bad number turns its own layer off.
    #[must_use]
    pub fn resolve(&self) -> Policy {
        Policy {
            local: LayerPolicy::resolve(self.ttl_local, self.ramp_local),
            remote: LayerPolicy::resolve(self.ttl_remote, self.ramp_remote),
            request_local: self.request_local.unwrap_or(false),
            coalesce: self.coalesce.unwrap_or(true),
            shadow: ShadowPolicy {
                ramp: self.shadow_ramp.percent().ok().map(|ramp| ramp.unwrap_or(0.0)),
                log_mismatches: self.log_mismatches.unwrap_or(false),
                fill_ttl_sec: self.ttl_remote.ttl_sec().ok().flatten().unwrap_or(0),
            },
        }
    }
}

/// A checked configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// The process-local layer.
    pub local: LayerPolicy,
    /// The Redis layer.
    pub remote: LayerPolicy,
    /// Whether values are memoised for the outermost `enable()` scope.
    pub request_local: bool,
    /// Whether calls of one key share a flight.
    pub coalesce: bool,
    /// Background comparison of Redis hits with the source.
    pub shadow: ShadowPolicy,
}

/// Whether and how a layer is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LayerPolicy {
    /// The layer serves the keys inside the ramp.
    On {
        /// How long a value lives, in seconds.
        ttl_sec: u32,
        /// Percent of keys, above 0 and up to 100.
        ramp: f64,
    },
    /// The layer is skipped, and why.
    Off(OffReason),
}

impl LayerPolicy {
    fn resolve(ttl: Leaf, ramp: Leaf) -> Self {
        let ttl_sec = match ttl.ttl_sec() {
            Ok(Some(ttl_sec)) => ttl_sec,
            Ok(None) => return Self::Off(OffReason::PolicyDisabled),
            Err(()) => return Self::Off(OffReason::InvalidTtl),
        };
        match ramp.percent() {
            Err(()) => Self::Off(OffReason::InvalidRamp),
            Ok(Some(0.0)) => Self::Off(OffReason::RampedDown),
            Ok(ramp) => Self::On {
                ttl_sec,
                ramp: ramp.unwrap_or(100.0),
            },
        }
    }
}

/// Why a layer is skipped: the `reason` label of the disabled metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffReason {
    /// No TTL.
    PolicyDisabled,
    /// A TTL that is not a whole number from 1 to [`MAX_TTL_SEC`].
    InvalidTtl,
    /// A ramp that is not a number from 0 to 100.
    InvalidRamp,
    /// The ramp is 0, or the key is outside it.
    RampedDown,
}

impl OffReason {
    /// The metric label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::PolicyDisabled => "policy_disabled",
            Self::InvalidTtl => "invalid_ttl",
            Self::InvalidRamp => "invalid_ramp",
            Self::RampedDown => "ramped_down",
        }
    }
}

/// Shadow validation's part of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShadowPolicy {
    /// Percent of keys, from 0 to 100; 0 is off. `None` when it is out of range, which is off too.
    pub ramp: Option<f64>,
    /// Whether differing values may be logged.
    pub log_mismatches: bool,
    /// How long Redis keeps a value it is filled with, in seconds; 0 without a valid TTL.
    pub fill_ttl_sec: u32,
}

#[cfg(test)]
mod tests;
