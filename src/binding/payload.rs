//! Payloads on their way across the boundary.

use napi::bindgen_prelude::{Buffer, Either};

use crate::core::envelope::Payload;

/// The longest string that V8 makes, in UTF-16 units.
const LONGEST_STRING: usize = if usize::BITS == 64 {
    (1 << 29) - 24
} else {
    (1 << 28) - 16
};

/// A payload as the serializer made it.
pub fn to_payload(payload: Either<String, Buffer>) -> Payload {
    match payload {
        Either::A(text) => Payload::Text(text),
        Either::B(bytes) => Payload::Bytes(bytes.to_vec()),
    }
}

/// A payload that JavaScript can hold. A few stored bytes decompress to a text that is longer than
/// any string: it is handed on as bytes, for the serializer to refuse.
pub fn presentable(payload: Payload) -> Payload {
    presentable_within(payload, LONGEST_STRING)
}

fn presentable_within(payload: Payload, longest: usize) -> Payload {
    match payload {
        Payload::Text(text) if text.len() > longest && text.encode_utf16().count() > longest => {
            Payload::Bytes(text.into_bytes())
        }
        payload => payload,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Payload {
        Payload::Text(text.into())
    }

    #[test]
    fn a_text_longer_than_any_string_becomes_bytes() {
        assert_eq!(presentable_within(text("abcd"), 4), text("abcd"));
        assert_eq!(presentable_within(text("abcde"), 4), Payload::Bytes(b"abcde".to_vec()));
        // Four units in twelve bytes, and five in fourteen.
        assert_eq!(presentable_within(text("ééé\u{20ac}"), 4), text("ééé\u{20ac}"));
        let long = "\u{20ac}\u{20ac}\u{20ac}\u{1f600}";
        assert_eq!(
            presentable_within(text(long), 4),
            Payload::Bytes(long.as_bytes().to_vec())
        );
        assert_eq!(
            presentable_within(Payload::Bytes(vec![1; 5]), 4),
            Payload::Bytes(vec![1; 5])
        );
    }
}
