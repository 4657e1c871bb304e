//! Events on their way from the I/O thread to the JavaScript thread.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

use super::post::{self, Post, Waker};
use super::wake::Wake;
use crate::core::envelope::Payload;
use crate::remote::{Event, Hit, ReadOutcome, Sink};

/// Bytes up to which a text travels in the letters' own buffer.
const SMALL_BYTES: usize = 16 << 10;
/// Bytes of that buffer that are kept for the next letters.
const KEPT_BYTES: usize = 1 << 20;

/// Events in the order they came, and the texts of their payloads.
///
/// Both threads use two of these in turn, so that in steady state nothing is allocated. A payload of
/// its own would be allocated by one thread and freed by the other, for which both must lock the same
/// arena of the allocator: under load that took a tenth of the JavaScript thread's time.
#[derive(Default)]
pub struct Letters {
    events: VecDeque<(Event, Range<usize>)>,
    texts: String,
}

/// An event. The text of its payload may stand beside it, and the payload is then empty.
pub struct Letter<'letters> {
    /// What happened.
    pub event: Event,
    /// The text of its payload, unless that is in its place.
    pub text: &'letters str,
}

impl Letters {
    /// The next one, oldest first.
    pub fn next(&mut self) -> Option<Letter<'_>> {
        let (event, text) = self.events.pop_front()?;
        Some(Letter {
            event,
            text: self.texts.get(text).unwrap_or_default(),
        })
    }
}

impl post::Letters for Letters {
    type Letter = Event;

    fn post(&mut self, mut event: Event) {
        let start = self.texts.len();
        if let Some(text) = small_text(&mut event) {
            self.texts.push_str(&mem::take(text));
        }
        self.events.push_back((event, start..self.texts.len()));
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn clear(&mut self) {
        self.events.clear();
        self.texts.clear();
        self.texts.shrink_to(KEPT_BYTES);
    }
}

fn small_text(event: &mut Event) -> Option<&mut String> {
    match event {
        Event::Read {
            outcome:
                ReadOutcome::Hit(Hit {
                    payload: Payload::Text(text),
                    ..
                }),
            ..
        } if text.len() <= SMALL_BYTES => Some(text),
        _ => None,
    }
}

/// Where the I/O thread posts its events.
pub type Mailbox = Post<Letters, Wake>;

impl Waker for Wake {
    fn call(&self) {
        Self::call(self);
    }
}

impl Sink for Mailbox {
    fn deliver(&self, event: Event) {
        self.post(event);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::post::Letters as _;
    use super::*;
    use crate::core::envelope::OpenOutcome;

    fn hit(ticket: u64, payload: Payload) -> Event {
        let hit = Hit {
            payload,
            created_at_ms: 0,
            opened: OpenOutcome::Passthrough,
            stored_bytes: 0,
            open_time: Duration::ZERO,
            room: None,
        };
        Event::Read {
            ticket,
            at: Instant::now(),
            outcome: ReadOutcome::Hit(hit),
        }
    }

    /// Ticket and payload, wherever it travelled.
    fn read(letter: Letter<'_>) -> (u64, Payload) {
        match letter.event {
            Event::Read {
                ticket,
                outcome: ReadOutcome::Hit(hit),
                ..
            } => {
                let beside = hit.payload == Payload::Text(String::new());
                let payload = if beside {
                    Payload::Text(letter.text.into())
                } else {
                    hit.payload
                };
                (ticket, payload)
            }
            other => panic!("not a hit: {other:?}"),
        }
    }

    #[test]
    fn letters_come_in_order_and_whole() {
        let payloads = [
            Payload::Text("first".into()),
            Payload::Text(String::new()),
            Payload::Text("é".repeat(SMALL_BYTES)),
            Payload::Bytes(b"bytes".to_vec()),
            Payload::Text("é".repeat(SMALL_BYTES / 2)),
        ];
        let mut letters = Letters::default();
        for round in 0..3 {
            letters.clear();
            for (ticket, payload) in (round..).zip(&payloads) {
                letters.post(hit(ticket, payload.clone()));
            }
            for (ticket, payload) in (round..).zip(&payloads) {
                assert_eq!(letters.next().map(read), Some((ticket, payload.clone())));
            }
            assert!(letters.is_empty());
        }
    }

    #[test]
    fn a_burst_leaves_no_large_buffer_behind() {
        let mut letters = Letters::default();
        for ticket in 0..1_000 {
            letters.post(hit(ticket, Payload::Text("a".repeat(SMALL_BYTES))));
        }
        letters.clear();
        assert!(letters.texts.capacity() <= KEPT_BYTES);
    }
}
