//! A request between its acceptance and its end.

use std::sync::Arc;
use std::time::Instant;

use super::budget::Budget;
use super::error::{ErrorKind, RemoteError};
use super::event::{Event, ReadOutcome, Sealing, Ticket};
use super::shared::Shared;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Read,
    Write,
    Invalidate,
    Ready,
}

/// One accepted request. Holds its share of the client's budgets until it is dropped, and answers
/// exactly once: whoever drops it unanswered, be it a panic or a runtime that is torn down, makes
/// it a failure.
pub(super) struct Pending {
    client: Arc<Shared>,
    ticket: Ticket,
    class: Class,
    /// Its server's budget and its bytes; `None` when it takes no part in the budgets.
    share: Option<(Arc<Budget>, usize)>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// The owner was told; the share of the budget is still held.
    Answered,
    Released,
}

impl Pending {
    /// Takes a share of a server's budget.
    pub fn admit(
        client: &Arc<Shared>,
        budget: Arc<Budget>,
        ticket: Ticket,
        class: Class,
        bytes: usize,
    ) -> Result<Self, RemoteError> {
        let refused = budget.take(bytes, &client.settings);
        client.total.take(bytes, &client.settings);
        let admitted = Self {
            client: Arc::clone(client),
            ticket,
            class,
            share: Some((budget, bytes)),
            state: State::Waiting,
        };
        match refused {
            None => Ok(admitted),
            Some(message) => {
                admitted.forget();
                Err(RemoteError::fixed(ErrorKind::Overloaded, message))
            }
        }
    }

    /// A request that the budgets do not concern.
    pub fn uncounted(client: &Arc<Shared>, ticket: Ticket, class: Class) -> Self {
        Self {
            client: Arc::clone(client),
            ticket,
            class,
            share: None,
            state: State::Waiting,
        }
    }

    pub fn client(&self) -> &Arc<Shared> {
        &self.client
    }

    /// Gives the share back without an event: the caller learns the outcome in another way.
    pub fn forget(mut self) {
        self.release();
    }

    /// Tells the owner that the deadline passed. The share stays held.
    pub fn due(&mut self) {
        self.state = State::Answered;
        self.client.sink.deliver(Event::Due {
            ticket: self.ticket,
            at: Instant::now(),
        });
    }

    /// Tells the owner that there is no reply yet.
    pub fn hedge(&self) {
        self.client.sink.deliver(Event::Hedge {
            ticket: self.ticket,
            at: Instant::now(),
        });
    }

    /// Ends a read at `at`.
    pub fn finish_read(mut self, at: Instant, outcome: ReadOutcome) {
        if let ReadOutcome::Failed(error) = &outcome {
            self.client.command_failed(error);
        }
        let ticket = self.ticket;
        self.answer(Event::Read { ticket, at, outcome });
    }

    /// Ends a read whose deadline passed and that holds nothing on the connection.
    pub fn finish_due(mut self) {
        let (ticket, at) = (self.ticket, Instant::now());
        self.answer(Event::Due { ticket, at });
    }

    /// Ends a write.
    pub fn finish_write(mut self, sealing: Option<Sealing>, outcome: Result<bool, RemoteError>) {
        if let Err(error) = &outcome {
            self.client.command_failed(error);
        }
        let (ticket, at) = (self.ticket, Instant::now());
        self.answer(Event::Write {
            ticket,
            at,
            sealing,
            outcome,
        });
    }

    /// Ends an invalidation.
    pub fn finish_invalidate(mut self, outcome: Result<(), RemoteError>) {
        if let Err(error) = &outcome {
            self.client.command_failed(error);
        }
        let (ticket, at) = (self.ticket, Instant::now());
        self.answer(Event::Invalidate { ticket, at, outcome });
    }

    /// Ends a wait for a connection.
    pub fn finish_ready(mut self, outcome: Result<(), RemoteError>) {
        let ticket = self.ticket;
        self.answer(Event::Ready { ticket, outcome });
    }

    /// Releases first, so that whoever hears of the end finds the budget free.
    fn answer(&mut self, event: Event) {
        self.release();
        self.client.sink.deliver(event);
    }

    fn release(&mut self) {
        self.state = State::Released;
        if let Some((budget, bytes)) = self.share.take() {
            budget.give_back(bytes);
            self.client.total.give_back(bytes);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        match self.state {
            State::Released => {}
            State::Answered => self.release(),
            State::Waiting => {
                let error = if self.client.is_closed() {
                    RemoteError::closed()
                } else {
                    RemoteError::internal("the request was dropped, which is a bug")
                };
                let (ticket, at) = (self.ticket, Instant::now());
                self.answer(match self.class {
                    Class::Read => Event::Read {
                        ticket,
                        at,
                        outcome: ReadOutcome::Failed(error),
                    },
                    Class::Write => Event::Write {
                        ticket,
                        at,
                        sealing: None,
                        outcome: Err(error),
                    },
                    Class::Invalidate => Event::Invalidate {
                        ticket,
                        at,
                        outcome: Err(error),
                    },
                    Class::Ready => Event::Ready {
                        ticket,
                        outcome: Err(error),
                    },
                });
            }
        }
    }
}
