//! Key strings, and the rules that keep two different calls from sharing one.
//!
//! `namespace:keyType:id?args#useCase`, every part percent-encoded, so that `:`, `?` and `#` can
//! only be delimiters. Tracked keys put the first part in braces: Redis
//! Cluster then keeps a value and its watermark in one slot.

use super::error::KeyError;

/// Ends the Redis key of a value, so that a later frame format never meets this one's bytes.
pub const FRAME_SUFFIX: &str = ":dialcache-frame-v1";

/// Ends the Redis key of a watermark; no use case may be called `watermark`.
pub const WATERMARK_SUFFIX: &str = "#watermark";

const HEX: [u8; 16] = *b"0123456789ABCDEF";

/// True for the bytes that JavaScript's `encodeURIComponent` leaves alone.
const UNRESERVED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')');
        byte += 1;
    }
    table
};

/// Appends `text` as JavaScript's `encodeURIComponent` would write it.
pub fn encode_component(text: &str, out: &mut String) {
    let mut clean_from = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if UNRESERVED[usize::from(byte)] {
            continue;
        }
        // Inside a multibyte character nothing is unreserved, so the run is empty there and the
        // slice never cuts one.
        if clean_from < at {
            out.push_str(&text[clean_from..at]);
        }
        out.push('%');
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
        clean_from = at + 1;
    }
    if clean_from < text.len() {
        out.push_str(&text[clean_from..]);
    }
}

fn has_brace(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'{' | b'}'))
}

/// The constant parts of one use case's keys, encoded once at registration.
#[derive(Debug, Clone)]
pub struct KeyScheme {
    /// `ns:type:`, with an opening brace in front when tracked.
    head: String,
    /// `#useCase`.
    tail: String,
    tracked: bool,
    key_type_has_brace: bool,
}

impl KeyScheme {
    /// Prepares the keys of one use case. `tracked` keys can be invalidated remotely.
    ///
    /// # Errors
    /// When the namespace, or a tracked key's type, holds a brace.
    pub fn new(namespace: &str, key_type: &str, use_case: &str, tracked: bool) -> Result<Self, KeyError> {
        if has_brace(namespace) {
            return Err(KeyError::BraceInNamespace);
        }
        let key_type_has_brace = has_brace(key_type);
        if tracked && key_type_has_brace {
            return Err(KeyError::BraceInKeyType);
        }
        let mut head = String::with_capacity(namespace.len() + key_type.len() + 3);
        if tracked {
            head.push('{');
        }
        encode_component(namespace, &mut head);
        head.push(':');
        encode_component(key_type, &mut head);
        head.push(':');
        let mut tail = String::from("#");
        encode_component(use_case, &mut tail);
        Ok(Self {
            head,
            tail,
            tracked,
            key_type_has_brace,
        })
    }

    /// Whether the keys are tracked for invalidation.
    #[must_use]
    pub fn tracked(&self) -> bool {
        self.tracked
    }

    /// Whether an id can be part of these keys.
    ///
    /// # Errors
    /// When a tracked key's id holds a brace.
    pub fn check_id(&self, id: &str) -> Result<(), KeyError> {
        if self.tracked && has_brace(id) {
            return Err(KeyError::BraceInId);
        }
        Ok(())
    }

    /// Appends the logical key: the identity of a call in flights, in the local index and for ramps.
    ///
    /// `args` is empty or `?name=value&...`, already sorted and encoded.
    ///
    /// # Errors
    /// When a tracked key's id holds a brace; `out` is then as it was.
    pub fn write_logical(&self, id: &str, args: &str, out: &mut String) -> Result<(), KeyError> {
        debug_assert!(args.is_empty() || args.starts_with('?'), "args come encoded");
        self.write_prefix(id, out)?;
        out.push_str(args);
        out.push_str(&self.tail);
        Ok(())
    }

    /// The Redis key of the value: the logical key and [`FRAME_SUFFIX`].
    ///
    /// # Errors
    /// When a tracked key's id holds a brace.
    pub fn value_key(&self, id: &str, args: &str) -> Result<String, KeyError> {
        let room = self.head.len() + id.len() + 1 + args.len() + self.tail.len();
        let mut key = String::with_capacity(room + FRAME_SUFFIX.len());
        self.write_logical(id, args, &mut key)?;
        key.push_str(FRAME_SUFFIX);
        Ok(key)
    }

    /// The Redis key of the watermark that `invalidateRemote` moves for `id`.
    ///
    /// # Errors
    /// When the key type or the id holds a brace, tracked or not: a watermark is always in braces.
    pub fn watermark_key(&self, id: &str) -> Result<String, KeyError> {
        if self.key_type_has_brace {
            return Err(KeyError::BraceInKeyType);
        }
        if has_brace(id) {
            return Err(KeyError::BraceInId);
        }
        let mut key = String::with_capacity(self.head.len() + id.len() + 2 + WATERMARK_SUFFIX.len());
        if !self.tracked {
            key.push('{');
        }
        key.push_str(&self.head);
        encode_component(id, &mut key);
        key.push('}');
        key.push_str(WATERMARK_SUFFIX);
        Ok(key)
    }

    /// The part that all keys of `id` share: `ns:type:id`, in braces when tracked.
    ///
    /// # Errors
    /// When a tracked key's id holds a brace.
    pub fn prefix(&self, id: &str) -> Result<String, KeyError> {
        let mut prefix = String::with_capacity(self.head.len() + id.len() + 1);
        self.write_prefix(id, &mut prefix)?;
        Ok(prefix)
    }

    fn write_prefix(&self, id: &str, out: &mut String) -> Result<(), KeyError> {
        if self.tracked && has_brace(id) {
            return Err(KeyError::BraceInId);
        }
        out.push_str(&self.head);
        encode_component(id, out);
        if self.tracked {
            out.push('}');
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
