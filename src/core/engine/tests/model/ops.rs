//! What may happen in a history.

use proptest::prelude::*;

use super::super::super::super::envelope::{OpenOutcome, SealOutcome};
use super::super::*;
use super::IDS;

const READS: [ReadResult; 3] = [ReadResult::Hit, ReadResult::Miss, ReadResult::Failed];
const OPENED: [OpenOutcome; 4] = [
    OpenOutcome::Passthrough,
    OpenOutcome::Decompressed,
    OpenOutcome::FallbackRaw,
    OpenOutcome::OverLimit,
];
const SEALED: [SealOutcome; 6] = [
    SealOutcome::Disabled,
    SealOutcome::BelowThreshold,
    SealOutcome::NotSmaller,
    SealOutcome::OverLimit,
    SealOutcome::Failed,
    SealOutcome::Compressed,
];
const WRITTEN: [WriteResult; 5] = [
    WriteResult::Stored,
    WriteResult::Stored,
    WriteResult::Stored,
    WriteResult::Fenced,
    WriteResult::Failed,
];
const STEPS: [u64; 8] = [1, MS, 49 * MS, 50 * MS, 999 * MS, SEC, 59 * SEC, 60 * SEC];

#[derive(Clone, Debug)]
pub(super) enum Op {
    Call {
        use_case: usize,
        id: usize,
    },
    Uncached {
        use_case: usize,
    },
    BadKey {
        use_case: usize,
    },
    Refuse {
        leader: usize,
    },
    Reply {
        leader: usize,
        result: ReadResult,
        opened: OpenOutcome,
    },
    Late {
        leader: usize,
    },
    Load {
        leader: usize,
        ok: bool,
    },
    Source {
        leader: usize,
        ok: bool,
    },
    Seal {
        leader: usize,
        outcome: SealOutcome,
    },
    Write {
        leader: usize,
        result: WriteResult,
    },
    DumpFailed {
        leader: usize,
    },
    Invalidate {
        id: usize,
    },
    Advance {
        nanos: u64,
    },
    Fire,
    Close,
}

/// Drawn as numbers: a union makes a random generator for each of its alternatives, which took most
/// of the time.
pub(super) fn op() -> impl Strategy<Value = Op> {
    (0..104_u32, 0..24_usize, 0..8_usize, 0..60_usize).prop_map(|(kind, place, leader, detail)| {
        let use_case = if place < 18 { place % 6 } else { 6 + detail % 6 };
        let id = detail % IDS.len();
        let ok = !detail.is_multiple_of(4);
        match kind {
            0..24 => Op::Call {
                use_case,
                id: leader % IDS.len(),
            },
            24 => Op::Uncached { use_case },
            25 => Op::BadKey { use_case },
            26 => Op::Refuse { leader },
            27..43 => Op::Reply {
                leader,
                result: READS[detail % READS.len()],
                opened: OPENED[detail % OPENED.len()],
            },
            43..46 => Op::Late { leader },
            46..54 => Op::Load {
                leader,
                ok: place % 2 == 0,
            },
            54..70 => Op::Source { leader, ok },
            70..74 => Op::Seal {
                leader,
                outcome: SEALED[detail % SEALED.len()],
            },
            74..86 => Op::Write {
                leader,
                result: WRITTEN[detail % WRITTEN.len()],
            },
            86 => Op::DumpFailed { leader },
            87..91 => Op::Invalidate { id },
            91..101 => Op::Advance {
                nanos: STEPS[detail % STEPS.len()],
            },
            101 if detail % 8 == 0 => Op::Close,
            _ => Op::Fire,
        }
    })
}
