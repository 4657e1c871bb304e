//! The attempts of one operation: which run, and which have been where.

use super::super::Nanos;
use super::breaker::Permit;
use super::step::AttemptKind;

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) kind: AttemptKind,
    pub(super) endpoint: u32,
    pub(super) started_at: Nanos,
    pub(super) permit: Option<Permit>,
    /// Neither settled nor cancelled.
    pub(super) running: bool,
}

/// The attempts of one operation, by number from 1.
#[derive(Debug, Default)]
pub(super) struct Attempts(Vec<Attempt>);

impl Attempts {
    /// Forgets them and keeps the memory for the next operation.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a running attempt and answers its number.
    pub(super) fn start(&mut self, attempt: Attempt) -> u32 {
        self.0.push(attempt);
        self.len()
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most maxAttempts, a u32")]
    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// The attempt of this number, when it is running.
    pub(super) fn running_mut(&mut self, number: u32) -> Option<&mut Attempt> {
        let index = (number as usize).checked_sub(1)?;
        self.0.get_mut(index).filter(|attempt| attempt.running)
    }

    /// The lowest number of a running attempt.
    pub(super) fn next_running(&self) -> Option<u32> {
        (1..)
            .zip(&self.0)
            .find(|(_, attempt)| attempt.running)
            .map(|(number, _)| number)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &Attempt> {
        self.0.iter().filter(|attempt| attempt.running)
    }

    pub(super) fn any_running(&self) -> bool {
        self.running().next().is_some()
    }

    pub(super) fn went_to(&self, endpoint: u32) -> bool {
        self.0.iter().any(|attempt| attempt.endpoint == endpoint)
    }

    /// The primary. An operation in the slab has one.
    pub(super) fn first(&self) -> &Attempt {
        &self.0[0]
    }

    pub(super) fn last(&self) -> &Attempt {
        &self.0[self.0.len() - 1]
    }
}
