//! What a server may announce. The parser believes every length it reads, and would keep whatever
//! comes for it; so incoming bytes are looked at before it sees them.

use std::fmt;

/// The most a bulk string may have: Redis' own limit for a value.
const MAX_BULK_BYTES: u64 = 512 << 20;

/// The most a line may have. Redis' own are shorter than 1 KiB.
const MAX_LINE_BYTES: usize = 16 << 10;

/// How deep arrays may be nested: those of `CLUSTER SLOTS` are four deep.
const MAX_DEPTH: usize = 8;

/// The most elements a reply may announce, nested ones included: a map of the most fragmented
/// cluster has fewer.
const MAX_ELEMENTS: u64 = 1 << 20;

/// What no Redis server says to this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    Unknown,
    Bulk,
    Line,
    Depth,
    Elements,
    /// Of a protocol version that was not asked for.
    Version,
}

impl Violation {
    pub const fn message(self) -> &'static str {
        match self {
            Self::Unknown => "the server's answer is not the Redis protocol",
            Self::Bulk => "the server announced a value of more than 512 MiB",
            Self::Line => "the server sent a line of more than 16 KiB",
            Self::Depth => "the server's answer is nested more than 8 deep",
            Self::Elements => "the server announced an answer of more than a million elements",
            Self::Version => "the server answered in another version of the protocol than it was asked in",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// Follows the bytes of one connection.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// Bytes left of the bulk string that is under way, its line end included.
    body: u64,
    /// The line that is under way, as far as it came, up to its length.
    line: Vec<u8>,
    line_bytes: usize,
    /// Whether the last byte of it was a carriage return.
    after_return: bool,
    /// Elements left of each array that is under way.
    open: Vec<u64>,
    /// Elements that the reply under way has announced.
    elements: u64,
}

/// As much of a line as holds its type and a number.
const KEPT_BYTES: usize = 24;

impl Limits {
    /// Takes in what came.
    pub fn see(&mut self, mut bytes: &[u8]) -> Result<(), Violation> {
        while let Some(first) = bytes.first() {
            if self.body > 0 {
                let passed = usize::try_from(self.body).unwrap_or(usize::MAX).min(bytes.len());
                self.body -= passed as u64;
                bytes = &bytes[passed..];
                if self.body == 0 {
                    self.element_ended();
                }
                continue;
            }
            if self.line_bytes == 0 && !matches!(first, b'+' | b'-' | b':' | b'$' | b'*') {
                return Err(match first {
                    b'_' | b',' | b'#' | b'!' | b'=' | b'(' | b'%' | b'~' | b'|' | b'>' => Violation::Version,
                    _ => Violation::Unknown,
                });
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            let room = KEPT_BYTES.saturating_sub(self.line.len()).min(line.len());
            self.line.extend_from_slice(&line[..room]);
            self.line_bytes += line.len();
            if self.line_bytes > MAX_LINE_BYTES {
                return Err(Violation::Line);
            }
            bytes = rest;
            // A line may hold a line feed: its end is both characters, which may come apart.
            let is_over = match line {
                [.., before, b'\n'] => *before == b'\r',
                [b'\n'] => self.after_return,
                _ => false,
            };
            self.after_return = line.ends_with(b"\r");
            if is_over {
                self.line_ended()?;
            }
        }
        Ok(())
    }

    fn line_ended(&mut self) -> Result<(), Violation> {
        let kind = self.line.first().copied();
        let number = self.number();
        self.line.clear();
        self.line_bytes = 0;
        match (kind, number) {
            (Some(b'$'), Some(bytes)) if bytes >= 0 => {
                let bytes = bytes.unsigned_abs();
                if bytes > MAX_BULK_BYTES {
                    return Err(Violation::Bulk);
                }
                self.body = bytes + 2;
            }
            (Some(b'*'), Some(count)) if count > 0 => {
                let count = count.unsigned_abs();
                self.elements = self.elements.saturating_add(count);
                if self.elements > MAX_ELEMENTS {
                    return Err(Violation::Elements);
                }
                if self.open.len() == MAX_DEPTH {
                    return Err(Violation::Depth);
                }
                self.open.push(count);
            }
            // What is no number at all.
            (Some(b'$' | b'*'), None) => return Err(Violation::Unknown),
            _ => self.element_ended(),
        }
        Ok(())
    }

    fn number(&self) -> Option<i64> {
        let text = std::str::from_utf8(self.line.get(1..)?).ok()?;
        text.strip_suffix("\r\n")?.trim().parse().ok()
    }

    fn element_ended(&mut self) {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return;
            }
            self.open.pop();
        }
        self.elements = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome, however the bytes are cut.
    fn see(bytes: &[u8]) -> Result<(), Violation> {
        let whole = Limits::default().see(bytes);
        for size in [1, 2, 3, 7] {
            let mut limits = Limits::default();
            let cut = bytes.chunks(size).try_for_each(|chunk| limits.see(chunk));
            assert_eq!(cut, whole, "in pieces of {size}: {:?}", String::from_utf8_lossy(bytes));
        }
        whole
    }

    #[test]
    fn what_redis_says_passes() {
        for reply in [
            "+OK\r\n",
            "-ERR unknown command 'x', with args beginning with: 'a\nb' \r\n",
            ":1\r\n:-1\r\n",
            "$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n",
            "*2\r\n$5\r\n*9\r\n$\r\n$-1\r\n+PONG\r\n",
            "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:6379\r\n$2\r\nid\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n",
            "$536870912\r\n",
        ] {
            assert_eq!(see(reply.as_bytes()), Ok(()), "{reply}");
        }
        let long_error = format!("-ERR {}\r\n$3\r\nabc\r\n+OK\r\n", "x".repeat(10_000));
        assert_eq!(see(long_error.as_bytes()), Ok(()));
    }

    #[test]
    fn values_lines_and_answers_beyond_their_bounds_do_not() {
        for (reply, violation) in [
            ("$536870913\r\n", Violation::Bulk),
            ("$99999999999\r\n", Violation::Bulk),
            ("$9223372036854775807\r\n", Violation::Bulk),
            ("$99999999999999999999\r\n", Violation::Unknown),
            ("$\r\n", Violation::Unknown),
            ("*x\r\n", Violation::Unknown),
            ("*1048577\r\n", Violation::Elements),
            ("*1\r\n*9223372036854775807\r\n", Violation::Elements),
            ("*524288\r\n*524288\r\n*1\r\n", Violation::Elements),
            ("HTTP/1.1 400 Bad Request\r\n", Violation::Unknown),
            ("%1\r\n", Violation::Version),
            (">2\r\n+invalidate\r\n_\r\n", Violation::Version),
            ("|1\r\n+ttl\r\n:1\r\n+OK\r\n", Violation::Version),
            ("=15\r\ntxt:Some string\r\n", Violation::Version),
            ("+OK\r\n\r\n", Violation::Unknown),
        ] {
            assert_eq!(see(reply.as_bytes()), Err(violation), "{reply}");
        }
        assert_eq!(see("*1\r\n".repeat(8).as_bytes()), Ok(()));
        assert_eq!(see("*1\r\n".repeat(9).as_bytes()), Err(Violation::Depth));
        for kind in ["+", "-", ":", "$", "*"] {
            let endless = format!("{kind}{}", "1".repeat(MAX_LINE_BYTES));
            assert_eq!(see(endless.as_bytes()), Err(Violation::Line), "{kind}");
        }
    }

    #[test]
    fn elements_are_counted_by_reply_and_not_by_connection() {
        let reply = format!("*1000\r\n{}", "+OK\r\n".repeat(1000));
        let mut limits = Limits::default();
        for _ in 0..2000 {
            assert_eq!(limits.see(reply.as_bytes()), Ok(()));
        }
        assert!(limits.open.is_empty() && limits.line.capacity() <= 2 * KEPT_BYTES);
    }
}
