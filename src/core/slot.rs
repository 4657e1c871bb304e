//! Which of a cluster's slots a key belongs to.

/// How many slots every cluster has.
pub const SLOTS: u16 = 16_384;

/// The slot of a key: CRC-16/XMODEM over its hash tag, or over all of it when it has none.
#[must_use]
pub fn slot(key: &str) -> u16 {
    crc16(hash_tag(key.as_bytes())) % SLOTS
}

/// What stands between the first `{` and the next `}`, unless that is nothing.
fn hash_tag(key: &[u8]) -> &[u8] {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        Some(&rest[..close])
    });
    match tag {
        Some(tag) if !tag.is_empty() => tag,
        _ => key,
    }
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        let index = (crc >> 8) ^ u16::from(*byte);
        (crc << 8) ^ TABLE[usize::from(index)]
    })
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checksum_is_the_specifications() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(crc16(b""), 0);
    }

    #[test]
    fn only_the_first_complete_tag_counts() {
        for (key, tag) in [
            ("{user1000}.following", "user1000"),
            ("foo{bar}{zap}", "bar"),
            ("foo{{bar}}zap", "{bar"),
            ("foo{}{bar}", "foo{}{bar}"),
            ("foo{bar", "foo{bar"),
            ("foo}bar{", "foo}bar{"),
            ("", ""),
        ] {
            assert_eq!(hash_tag(key.as_bytes()), tag.as_bytes(), "{key}");
        }
    }

    #[test]
    fn slots_are_the_ones_a_server_computes() {
        // Answers of CLUSTER KEYSLOT.
        for (key, expected) in [
            ("foo", 12_182),
            ("bar", 5_061),
            ("somekey", 11_058),
            ("foo{hash_tag}", 2_515),
        ] {
            assert_eq!(slot(key), expected, "{key}");
        }
    }

    proptest! {
        #[test]
        fn everything_of_one_identity_shares_a_slot(id in "[^{}]{1,20}", arguments in ".{0,20}", use_case in ".{0,20}") {
            let prefix = format!("{{{id}}}");
            let value = slot(&format!("{prefix}?{arguments}#{use_case}:dialcache-frame-v1"));
            prop_assert_eq!(value, slot(&format!("{prefix}#watermark")));
            prop_assert!(value < SLOTS);
        }
    }
}
