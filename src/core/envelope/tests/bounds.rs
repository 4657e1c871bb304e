//! How much is decompressed, at most.

use super::*;

/// A frame of `blocks` repeated-byte blocks of 128 KiB, sized or not.
fn bomb(blocks: usize, stated_bytes: Option<u64>) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd];
    match stated_bytes {
        None => frame.extend([0x00, 0x38]),
        Some(size) => {
            frame.push(0xe0);
            frame.extend(size.to_le_bytes());
        }
    }
    for block in 0..blocks {
        let last = u32::from(block + 1 == blocks);
        let header = (128 << 10) << 3 | 1 << 1 | last;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}

#[test]
fn a_payload_over_the_bound_is_handed_on_raw() {
    let blocks = 8;
    let whole = blocks * (128 << 10);
    for stated in [None, Some(whole as u64)] {
        let body = marked(0x02, &bomb(blocks, stated));
        let at_bound = open_within(Encoding::Binary, body.clone(), whole);
        assert_eq!(at_bound.payload, Payload::Bytes(vec![b'x'; whole]));
        let over = open_within(Encoding::Binary, body.clone(), whole - 1);
        assert_eq!(over.payload, Payload::Bytes(body));
        assert_eq!(over.outcome, OpenOutcome::OverLimit);
    }
}

/// 64 GiB in 2 MiB. Ends quickly, and within the memory of any machine, only if it is given up at
/// the bound.
#[test]
fn a_bomb_is_given_up_at_the_bound() {
    let body = marked(0x01, &bomb(64 << 13, None));
    let opened = open_within(Encoding::Binary, body.clone(), 1 << 20);
    assert_eq!(opened.outcome, OpenOutcome::OverLimit);
    assert_eq!(opened.payload, Payload::Bytes(body));
}

/// Were the stated size believed, allocating it would fail, or abort.
#[test]
fn a_stated_size_that_the_bytes_cannot_hold_is_not_believed() {
    for stated in [1 << 30, 1 << 40, 1 << 62] {
        let body = marked(0x01, &bomb(2, Some(stated)));
        let opened = open_within(Encoding::Binary, body, usize::MAX);
        assert_eq!(opened.outcome, OpenOutcome::FallbackRaw, "{stated}");
    }
}

#[test]
fn the_bound_holds_over_several_frames_together() {
    let body = marked(0x02, &[HELLO_SIZED, HELLO_SIZED, HELLO_SIZED].concat());
    let opened = |max_bytes| open_within(Encoding::Binary, body.clone(), max_bytes).outcome;
    assert_eq!(opened(15), OpenOutcome::Decompressed);
    assert_eq!(opened(14), OpenOutcome::OverLimit);
}
