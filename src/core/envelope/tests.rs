use proptest::prelude::*;

use super::*;

mod bounds;
mod sizes;

/// A frame of one block that is `hello` as it is, with its size stated (RFC 8878, by hand: magic
/// number, single-segment flag, size 5, last raw block of 5 bytes).
const HELLO_SIZED: [u8; 14] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o',
];

/// The same with a window of 1 KiB in place of a size.
const HELLO_UNSIZED: [u8; 14] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o',
];

const TAGS: &str = r#"{"id":1,"tags":["cache","cache","cache","cache","cache"]}"#;

/// [`TAGS`] as the reference `zstd` program writes it from a stream: no size, with a checksum.
const TAGS_STREAMED: [u8; 45] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x05, 0x01, 0x00, 0xd0, 0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x31, 0x2c, 0x22,
    0x74, 0x61, 0x67, 0x73, 0x22, 0x3a, 0x5b, 0x22, 0x63, 0x61, 0x63, 0x68, 0x65, 0x22, 0x2c, 0x5d, 0x7d, 0x01, 0x00,
    0xac, 0x29, 0x63, 0xe0, 0xf1, 0xd7, 0x6a,
];

/// The same with its size stated and no checksum.
const TAGS_SIZED: [u8; 41] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x39, 0x05, 0x01, 0x00, 0xd0, 0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x31, 0x2c, 0x22,
    0x74, 0x61, 0x67, 0x73, 0x22, 0x3a, 0x5b, 0x22, 0x63, 0x61, 0x63, 0x68, 0x65, 0x22, 0x2c, 0x5d, 0x7d, 0x01, 0x00,
    0xac, 0x29, 0x63,
];

const ALWAYS: Option<Compression> = Some(Compression {
    threshold_bytes: 1,
    level: 3,
});

fn text(text: &str) -> Payload {
    Payload::Text(text.to_owned())
}

fn bytes(bytes: &[u8]) -> Payload {
    Payload::Bytes(bytes.to_vec())
}

fn marked(marker: u8, rest: &[u8]) -> Vec<u8> {
    [&[marker], rest].concat()
}

fn open_binary(body: &[u8]) -> Opened {
    open(Encoding::Binary, body.to_vec())
}

/// Bytes that no compressor makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(&mut step).take(length).collect()
}

#[test]
fn text_is_stored_as_it_is() {
    for plain in ["", "{}", "\u{1}", "\u{0}\u{1}\u{2}", "é"] {
        let sealed = seal(text(plain), None);
        assert_eq!(sealed.payload, text(plain));
        assert_eq!(sealed.outcome, SealOutcome::Disabled);
        assert_eq!(open(Encoding::Utf8, plain.into()).payload, text(plain));
    }
}

#[test]
fn raw_bytes_are_escaped_where_they_could_be_taken_for_a_marker() {
    for compression in [None, ALWAYS] {
        for (plain, stored) in [
            (&[][..], &[][..]),
            (&[0x00], &[0x00, 0x00]),
            (&[0x01], &[0x00, 0x01]),
            (&[0x02], &[0x00, 0x02]),
            (&[0x03], &[0x03]),
            (&[0xff], &[0xff]),
            (&[0x00, 0x01], &[0x00, 0x00, 0x01]),
            (&[0x00, 0x03], &[0x00, 0x00, 0x03]),
            (&[0x01, 0x28, 0xb5, 0x2f, 0xfd], &[0x00, 0x01, 0x28, 0xb5, 0x2f, 0xfd]),
            (&[0x03, 0x00], &[0x03, 0x00]),
        ] {
            let sealed = seal(bytes(plain), compression);
            assert_eq!(sealed.payload, bytes(stored));
            let opened = open_binary(stored);
            assert_eq!(opened.payload, bytes(plain));
            assert_eq!(opened.outcome, OpenOutcome::Passthrough);
        }
    }
}

#[test]
fn bytes_that_no_sealing_writes_pass_through() {
    for body in [&[0x00][..], &[0x00, 0x03], &[0x00, 0xff, 0x00], b"plain"] {
        let opened = open_binary(body);
        assert_eq!(opened.payload, bytes(body));
        assert_eq!(opened.outcome, OpenOutcome::Passthrough);
    }
}

#[test]
fn frames_of_other_writers_are_opened() {
    for (frame, plain) in [
        (&HELLO_SIZED[..], "hello"),
        (&HELLO_UNSIZED, "hello"),
        (&TAGS_STREAMED, TAGS),
        (&TAGS_SIZED, TAGS),
    ] {
        let opened = open_binary(&marked(0x01, frame));
        assert_eq!(opened.payload, text(plain));
        assert_eq!(opened.outcome, OpenOutcome::Decompressed);
        let opened = open_binary(&marked(0x02, frame));
        assert_eq!(opened.payload, bytes(plain.as_bytes()));
    }
}

#[test]
fn several_frames_are_one_payload() {
    for (one, two) in [
        (&HELLO_SIZED[..], &HELLO_SIZED[..]),
        (&HELLO_SIZED, &HELLO_UNSIZED),
        (&HELLO_UNSIZED, &HELLO_SIZED),
        (&HELLO_UNSIZED, &HELLO_UNSIZED),
    ] {
        let opened = open_binary(&marked(0x01, &[one, two].concat()));
        assert_eq!(opened.payload, text("hellohello"));
    }
}

#[test]
fn a_truncated_frame_is_handed_on_raw() {
    for frame in [&HELLO_SIZED[..], &HELLO_UNSIZED, &TAGS_STREAMED, &TAGS_SIZED] {
        for length in 0..frame.len() {
            let body = marked(0x01, &frame[..length]);
            let opened = open_binary(&body);
            assert_eq!(opened.payload, bytes(&body), "{length} of {}", frame.len());
            assert_eq!(opened.outcome, OpenOutcome::FallbackRaw);
        }
    }
}

#[test]
fn trailing_garbage_is_handed_on_raw() {
    for frame in [&HELLO_SIZED[..], &HELLO_UNSIZED, &TAGS_STREAMED] {
        for garbage in [&b"\0"[..], b"garbage", &frame[..6]] {
            let body = marked(0x02, &[frame, garbage].concat());
            let opened = open_binary(&body);
            assert_eq!(opened.payload, bytes(&body));
            assert_eq!(opened.outcome, OpenOutcome::FallbackRaw);
        }
    }
}

#[test]
fn a_broken_checksum_or_block_is_handed_on_raw() {
    let mut wrong_sum = TAGS_STREAMED;
    wrong_sum[44] ^= 1;
    let mut wrong_size = HELLO_SIZED;
    wrong_size[5] = 6;
    let mut wrong_block = HELLO_SIZED;
    wrong_block[6] |= 3 << 1;
    for frame in [&wrong_sum[..], &wrong_size, &wrong_block] {
        assert_eq!(open_binary(&marked(0x01, frame)).outcome, OpenOutcome::FallbackRaw);
    }
}

#[test]
fn ill_formed_text_is_decoded_as_javascript_decodes_it() {
    for (raw, expected) in [
        (&[0x22, 0xff, 0x22][..], "\"\u{fffd}\""),
        (&[0xe2, 0x82], "\u{fffd}"),
        (&[0xe2, 0x82, 0x41], "\u{fffd}A"),
        (&[0xed, 0xa0, 0x80], "\u{fffd}\u{fffd}\u{fffd}"),
        (&[0xf4, 0x90, 0x80, 0x80], "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        (&[0xef, 0xbb, 0xbf, 0x61], "\u{feff}a"),
    ] {
        assert_eq!(open(Encoding::Utf8, raw.to_vec()).payload, text(expected));
        // The same inside zstd: one last raw block of these bytes.
        let length = u8::try_from(raw.len()).unwrap();
        let head = [0x28, 0xb5, 0x2f, 0xfd, 0x20, length, length << 3 | 1, 0, 0];
        let body = marked(0x01, &[&head, raw].concat());
        assert_eq!(open_binary(&body).payload, text(expected));
    }
}

#[test]
fn compression_starts_at_the_threshold() {
    let compression = Some(Compression {
        threshold_bytes: 1_000,
        level: 3,
    });
    let below = seal(text(&"a".repeat(999)), compression);
    assert_eq!(below.outcome, SealOutcome::BelowThreshold);
    assert_eq!(below.payload, text(&"a".repeat(999)));

    let at = seal(text(&"a".repeat(1_000)), compression);
    assert_eq!((at.outcome, at.original_bytes), (SealOutcome::Compressed, 1_000));
    assert_eq!(at.payload.encoding(), Encoding::Binary);
    assert_eq!(at.payload.as_bytes()[..5], [0x01, 0x28, 0xb5, 0x2f, 0xfd]);

    let raw = seal(Payload::Bytes(vec![0; 1_000]), compression);
    assert_eq!(raw.payload.as_bytes()[..5], [0x02, 0x28, 0xb5, 0x2f, 0xfd]);

    // Counted in bytes, not in characters.
    assert_eq!(
        seal(text(&"é".repeat(500)), compression).outcome,
        SealOutcome::Compressed
    );
}

#[test]
fn compressed_frames_state_their_size() {
    let sealed = seal(text(&"a".repeat(5_000)), ALWAYS);
    let stated = zstd::zstd_safe::get_frame_content_size(&sealed.payload.as_bytes()[1..]);
    assert_eq!(stated.ok().flatten(), Some(5_000));
}

#[test]
fn a_compressed_form_is_stored_only_when_smaller() {
    for length in (0..64).chain([1_000, 4_096, 70_000]) {
        let plain = noise(length);
        let sealed = seal(Payload::Bytes(plain.clone()), ALWAYS);
        let tried = length > 0;
        assert_eq!(sealed.outcome == SealOutcome::NotSmaller, tried, "{length}");
        let escaped = usize::from(matches!(plain.first(), Some(0..=2)));
        assert_eq!(sealed.payload.len(), length + escaped);
    }
    let mut starts_like_a_marker = noise(4_096);
    starts_like_a_marker[0] = 0x01;
    let sealed = seal(Payload::Bytes(starts_like_a_marker.clone()), ALWAYS);
    assert_eq!(sealed.payload.as_bytes(), marked(0x00, &starts_like_a_marker));
}

#[test]
fn every_level_can_be_read() {
    let plain = text(&TAGS.repeat(1_000));
    for level in 1..=22 {
        let compression = Some(Compression {
            threshold_bytes: 1,
            level,
        });
        let sealed = seal(plain.clone(), compression);
        assert_eq!(sealed.outcome, SealOutcome::Compressed);
        assert_eq!(open_binary(sealed.payload.as_bytes()).payload, plain);
    }
}

#[test]
fn says_what_a_body_will_decompress_to() {
    let sealed = seal(Payload::Text("a".repeat(5000)), ALWAYS);
    let body = sealed.payload.as_bytes();
    assert_eq!(decompressed_bytes(Encoding::Binary, body), Some(5000));
    assert_eq!(decompressed_bytes(Encoding::Utf8, body), None);
    assert_eq!(decompressed_bytes(Encoding::Binary, b"plain"), None);
    assert_eq!(decompressed_bytes(Encoding::Binary, b""), None);
    let twice = [body, &body[1..]].concat();
    assert_eq!(
        decompressed_bytes(Encoding::Binary, &twice),
        Some(MAX_DECOMPRESSED_BYTES)
    );
}

#[test]
fn compressing_and_decompressing_are_counted_where_they_run() {
    let before = codec_runs_here();
    let sealed = seal(text(&"a".repeat(100)), ALWAYS);
    assert_eq!(codec_runs_here(), before + 1);
    let opened = open_binary(sealed.payload.as_bytes());
    assert_eq!(codec_runs_here(), before + 2);
    assert!(!opened.payload.is_empty() && bytes(&[]).is_empty());
}

fn payload() -> impl Strategy<Value = Payload> {
    let repeated = (any::<Vec<u8>>(), 1..200_usize);
    prop_oneof![
        ".*".prop_map(Payload::Text),
        ("[a-c]{1,8}", 1..2_000_usize).prop_map(|(part, times)| Payload::Text(part.repeat(times))),
        any::<Vec<u8>>().prop_map(Payload::Bytes),
        repeated.prop_map(|(part, times)| Payload::Bytes(part.repeat(times))),
        (0..4_u8, any::<Vec<u8>>()).prop_map(|(first, rest)| Payload::Bytes(marked(first, &rest))),
    ]
}

#[test]
fn more_than_a_reader_may_decompress_is_stored_as_it_is() {
    for payload in [text(&"a".repeat(65)), bytes(&[1; 65])] {
        let sealed = seal_within(payload.clone(), ALWAYS, 64);
        assert_eq!(sealed.outcome, SealOutcome::OverLimit);
        assert_eq!(
            seal_within(payload.clone(), ALWAYS, 65).outcome,
            SealOutcome::Compressed
        );
        let opened = open(sealed.payload.encoding(), sealed.payload.as_bytes().to_vec());
        assert_eq!(opened.payload, payload);
        assert_eq!(opened.outcome, OpenOutcome::Passthrough);
    }
}

proptest! {
    #[test]
    fn what_is_sealed_is_opened(payload in payload(), threshold_bytes in 1..500_usize, level in 1..6) {
        for compression in [None, Some(Compression { threshold_bytes, level })] {
            let sealed = seal(payload.clone(), compression);
            prop_assert_eq!(sealed.original_bytes, payload.len());
            let stored = sealed.payload;
            prop_assert!(stored.len() <= payload.len() + 1);
            if sealed.outcome == SealOutcome::Compressed {
                prop_assert!(stored.len() < seal(payload.clone(), None).payload.len());
            }
            let opened = open(stored.encoding(), stored.as_bytes().to_vec());
            prop_assert_eq!(&opened.payload, &payload);
        }
    }

    #[test]
    fn any_bytes_open_within_the_bound(
        marker in 0..3_u8,
        rest: Vec<u8>,
        flip in 0..TAGS_STREAMED.len(),
        mask: u8,
    ) {
        let mut damaged = TAGS_STREAMED;
        damaged[flip] ^= mask;
        for body in [marked(marker, &rest), marked(marker, &damaged)] {
            let opened = open_within(Encoding::Binary, body.clone(), 64);
            match opened.outcome {
                OpenOutcome::Decompressed => prop_assert!(opened.payload.len() <= 3 * 64),
                OpenOutcome::Passthrough => {}
                _ => prop_assert_eq!(opened.payload, Payload::Bytes(body)),
            }
        }
    }
}
