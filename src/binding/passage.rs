//! What became of a payload in its envelope, as JavaScript is told.

use std::time::Duration;

use napi_derive::napi;

use super::engine::float;
use crate::core::envelope::{OpenOutcome, SealOutcome};
use crate::remote::Sealing;

/// What became of a payload on its way through the envelope.
#[napi]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The compressor had no part in it.
    Untouched = 0,
    /// On its way to Redis: compressed.
    Compressed = 1,
    /// Too small to be compressed.
    BelowThreshold = 2,
    /// Compressing would not have made it smaller.
    NotSmaller = 3,
    /// Bigger than a reader may decompress.
    WriteOverLimit = 4,
    /// The compressor failed.
    Failed = 5,
    /// On its way from Redis: decompressed.
    Decompressed = 6,
    /// It looked compressed and could not be decompressed.
    FallbackRaw = 7,
    /// Of more than the permitted bytes.
    ReadOverLimit = 8,
}

impl Passed {
    /// What sealing meant, from its number.
    pub const fn as_sealed(number: u32) -> SealOutcome {
        match number {
            1 => SealOutcome::Compressed,
            2 => SealOutcome::BelowThreshold,
            3 => SealOutcome::NotSmaller,
            4 => SealOutcome::OverLimit,
            5 => SealOutcome::Failed,
            _ => SealOutcome::Disabled,
        }
    }

    /// What opening meant, from its number.
    pub const fn as_opened(number: u32) -> OpenOutcome {
        match number {
            6 => OpenOutcome::Decompressed,
            7 => OpenOutcome::FallbackRaw,
            8 => OpenOutcome::OverLimit,
            _ => OpenOutcome::Passthrough,
        }
    }
}

impl From<SealOutcome> for Passed {
    fn from(outcome: SealOutcome) -> Self {
        match outcome {
            SealOutcome::Disabled => Self::Untouched,
            SealOutcome::Compressed => Self::Compressed,
            SealOutcome::BelowThreshold => Self::BelowThreshold,
            SealOutcome::NotSmaller => Self::NotSmaller,
            SealOutcome::OverLimit => Self::WriteOverLimit,
            SealOutcome::Failed => Self::Failed,
        }
    }
}

impl From<OpenOutcome> for Passed {
    fn from(outcome: OpenOutcome) -> Self {
        match outcome {
            OpenOutcome::Passthrough => Self::Untouched,
            OpenOutcome::Decompressed => Self::Decompressed,
            OpenOutcome::FallbackRaw => Self::FallbackRaw,
            OpenOutcome::OverLimit => Self::ReadOverLimit,
        }
    }
}

/// A payload's way through the envelope.
#[napi(object)]
pub struct Passage {
    /// A [`Passed`].
    pub outcome: u32,
    /// Time the compressor took; 0 when it had no part in it.
    pub seconds: f64,
    /// Bytes that are stored, without the frame's header; absent on the way from Redis.
    pub sealed_bytes: Option<f64>,
}

impl From<Sealing> for Passage {
    fn from(sealing: Sealing) -> Self {
        Self {
            outcome: Passed::from(sealing.outcome) as u32,
            seconds: sealing.time.as_secs_f64(),
            sealed_bytes: Some(float(u64::try_from(sealing.sealed_bytes).unwrap_or(u64::MAX))),
        }
    }
}

impl Passage {
    /// Out of the envelope.
    pub fn opened(outcome: OpenOutcome, time: Duration) -> Self {
        Self {
            outcome: Passed::from(outcome) as u32,
            seconds: time.as_secs_f64(),
            sealed_bytes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_a_number_of_its_own_and_is_told_from_it() {
        let sealed = [
            SealOutcome::Disabled,
            SealOutcome::BelowThreshold,
            SealOutcome::NotSmaller,
            SealOutcome::OverLimit,
            SealOutcome::Failed,
            SealOutcome::Compressed,
        ];
        for outcome in sealed {
            assert_eq!(Passed::as_sealed(Passed::from(outcome) as u32), outcome);
        }
        let opened = [
            OpenOutcome::Passthrough,
            OpenOutcome::Decompressed,
            OpenOutcome::FallbackRaw,
            OpenOutcome::OverLimit,
        ];
        for outcome in opened {
            assert_eq!(Passed::as_opened(Passed::from(outcome) as u32), outcome);
        }
    }
}
