//! How large the values of a server are, going by the latest ones.

use std::sync::atomic::{AtomicUsize, Ordering};

use redis::Value;

/// Bytes of a value's reply.
#[derive(Debug, Default)]
pub(super) struct ReplySize(AtomicUsize);

impl ReplySize {
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes in what came together. Larger ones count at once, smaller ones by and by, because it is
    /// large ones that others would wait for; replies without a value, as to a write or of a miss, say
    /// nothing about values.
    pub fn note(&self, replies: &[Value]) {
        let largest = replies.iter().map(value_bytes).max().unwrap_or(0);
        if largest == 0 {
            return;
        }
        let before = self.bytes();
        let next = largest.max(before - before / 8);
        self.0.store(next, Ordering::Relaxed);
    }
}

fn value_bytes(reply: &Value) -> usize {
    match reply {
        Value::BulkString(bytes) => bytes.len(),
        Value::Array(items) => items.iter().map(value_bytes).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: usize) -> Value {
        Value::BulkString(vec![0; bytes])
    }

    #[test]
    fn large_values_count_at_once_and_small_ones_by_and_by() {
        let size = ReplySize::default();
        size.note(&[value(100), Value::Array(vec![value(8_000), value(13)]), value(100)]);
        assert_eq!(size.bytes(), 8_013);
        size.note(&[value(100)]);
        assert_eq!(size.bytes(), 8_013 - 8_013 / 8);
        for _ in 0..100 {
            size.note(&[value(100)]);
        }
        assert_eq!(size.bytes(), 100);
    }

    #[test]
    fn writes_and_misses_say_nothing_about_values() {
        let size = ReplySize::default();
        size.note(&[value(1 << 20)]);
        for _ in 0..100 {
            size.note(&[Value::Okay, Value::Int(1)]);
            size.note(&[Value::Nil, Value::Array(vec![Value::Nil, Value::Nil])]);
            size.note(&[]);
        }
        assert_eq!(size.bytes(), 1 << 20);
    }
}
