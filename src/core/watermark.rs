//! Which tracked values an invalidation bars.
//!
//! One watermark stands for everything stored under an identity: a decimal number of milliseconds
//! in server time. A value is served only when it was stamped after it. The scripts of
//! `remote` apply the same rules on the server; here they are what a read decides.

use std::num::IntErrorKind;

/// A watermark that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watermark(u64);

impl Watermark {
    /// Reads what is stored: ASCII digits and nothing else. `None` for anything different, which
    /// bars as a missing watermark does. A number too big to count bars all there is.
    #[must_use]
    pub fn parse(raw: &[u8]) -> Option<Self> {
        // A sign would be taken by the parser below.
        if !raw.iter().all(u8::is_ascii_digit) {
            return None;
        }
        match std::str::from_utf8(raw).ok()?.parse() {
            Ok(ms) => Some(Self(ms)),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(Self(u64::MAX)),
            Err(_) => None,
        }
    }

    /// Whether a value stamped at `created_at_ms` must not be served.
    #[must_use]
    pub fn bars(self, created_at_ms: u64) -> bool {
        self.0 >= created_at_ms
    }
}

/// Whether a tracked value may be served: it must be known not to be barred, so without a watermark
/// it may not.
#[must_use]
pub fn admits(watermark: Option<&[u8]>, created_at_ms: u64) -> bool {
    watermark
        .and_then(Watermark::parse)
        .is_some_and(|watermark| !watermark.bars(created_at_ms))
}

/// What the stamp script answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// A watermark bars the value; it is gone.
    Barred,
    /// The value is served from now on.
    Stamped,
    /// Something else stands where the placeholder was, or nothing.
    PlaceholderLost,
}

impl Stamp {
    /// Reads the script's reply; `None` when it is none of its replies.
    #[must_use]
    pub fn from_reply(reply: i64) -> Option<Self> {
        match reply {
            0 => Some(Self::Barred),
            1 => Some(Self::Stamped),
            2 => Some(Self::PlaceholderLost),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rule in other words: unbounded decimal comparison, digit by digit.
    fn model(watermark: Option<&[u8]>, created_at_ms: u64) -> bool {
        let Some(digits) = watermark else { return false };
        if digits.is_empty() || digits.iter().any(|byte| !b"0123456789".contains(byte)) {
            return false;
        }
        let digits: Vec<u8> = digits.iter().copied().skip_while(|digit| *digit == b'0').collect();
        let created = created_at_ms.to_string().into_bytes();
        let created: Vec<u8> = created.into_iter().skip_while(|digit| *digit == b'0').collect();
        (digits.len(), digits) < (created.len(), created)
    }

    #[test]
    fn a_value_must_be_younger_than_its_watermark() {
        assert!(admits(Some(b"1699999999999"), 1_700_000_000_000));
        assert!(!admits(Some(b"1700000000000"), 1_700_000_000_000));
        assert!(!admits(Some(b"1700000000001"), 1_700_000_000_000));
        assert!(admits(Some(b"0"), 1));
        assert!(!admits(Some(b"0"), 0));
    }

    #[test]
    fn what_is_no_unsigned_decimal_admits_nothing() {
        for raw in [
            "", " ", " 1", "1 ", "1\n", "+1", "-1", "1.0", "1e3", "0x1", "NaN", "Infinity", "nil", "1_0", "\u{661}",
        ] {
            assert!(!admits(Some(raw.as_bytes()), 1_700_000_000_000), "{raw:?}");
        }
        assert!(!admits(None, 1_700_000_000_000));
        assert!(!admits(Some(b"\xff1"), 1_700_000_000_000));
        assert!(!admits(Some(b"1\0"), 1_700_000_000_000));
    }

    #[test]
    fn numbers_out_of_range_bar_everything() {
        assert!(!admits(Some(b"18446744073709551616"), u64::MAX));
        assert!(!admits(Some("9".repeat(400).as_bytes()), u64::MAX));
        let zeros = "0".repeat(400);
        assert!(
            admits(Some(zeros.as_bytes()), 1),
            "leading zeros do not make a number big"
        );
    }

    #[test]
    fn only_the_three_replies_are_replies() {
        assert_eq!(Stamp::from_reply(0), Some(Stamp::Barred));
        assert_eq!(Stamp::from_reply(1), Some(Stamp::Stamped));
        assert_eq!(Stamp::from_reply(2), Some(Stamp::PlaceholderLost));
        assert_eq!(Stamp::from_reply(3), None);
        assert_eq!(Stamp::from_reply(-1), None);
    }

    proptest! {
        #[test]
        fn decimals_of_any_length_compare_as_numbers(
            watermark in "0{0,3}[0-9]{1,25}",
            created_at_ms in prop_oneof![any::<u64>(), 0_u64..100],
        ) {
            let raw = Some(watermark.as_bytes());
            // Beyond 64 bits everything is barred, and no time is that late.
            prop_assert_eq!(admits(raw, created_at_ms), model(raw, created_at_ms));
        }

        #[test]
        fn neighbours_of_a_time_compare_as_numbers(created_at_ms in 2_u64..u64::MAX, offset in -2_i64..=1) {
            let watermark = created_at_ms.saturating_add_signed(offset).to_string();
            let raw = Some(watermark.as_bytes());
            prop_assert_eq!(admits(raw, created_at_ms), offset < 0);
            prop_assert_eq!(model(raw, created_at_ms), offset < 0);
        }

        #[test]
        fn any_bytes_are_read_without_panic_and_as_the_model_does(
            raw in proptest::option::of(proptest::collection::vec(
                prop_oneof![4 => b'0'..=b'9', 1 => any::<u8>()],
                0..8,
            )),
            created_at_ms in any::<u64>(),
        ) {
            prop_assert_eq!(admits(raw.as_deref(), created_at_ms), model(raw.as_deref(), created_at_ms));
        }

        #[test]
        fn raising_a_watermark_never_admits_more(low in any::<u64>(), high in any::<u64>(), created_at_ms in any::<u64>()) {
            let (low, high) = (low.min(high), low.max(high));
            let admitted = |ms: u64| admits(Some(ms.to_string().as_bytes()), created_at_ms);
            prop_assert!(admitted(low) || !admitted(high));
        }
    }
}
