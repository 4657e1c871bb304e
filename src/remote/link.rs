//! Whether there is a connection, for everyone who waits to know.

use tokio::sync::watch;

use super::error::RemoteError;
use super::event::Status;

#[derive(Clone)]
enum State<T> {
    Connecting,
    Up(T),
    /// And why.
    Down(RemoteError),
    Closed,
}

impl<T> State<T> {
    fn status(&self) -> Status {
        match self {
            Self::Connecting => Status::Connecting,
            Self::Up(_) => Status::Ready,
            Self::Down(_) => Status::Reconnecting,
            Self::Closed => Status::Closed,
        }
    }
}

/// A connection, or the lack of one. Once closed it stays so.
pub(super) struct Link<T>(watch::Sender<State<T>>);

impl<T: Clone> Link<T> {
    pub fn new() -> Self {
        Self(watch::Sender::new(State::Connecting))
    }

    /// The connection as it is now; `None` while the first attempt is under way.
    pub fn now(&self) -> Option<Result<T, RemoteError>> {
        match &*self.0.borrow() {
            State::Connecting => None,
            State::Up(connection) => Some(Ok(connection.clone())),
            State::Down(reason) => Some(Err(reason.not_connected())),
            State::Closed => Some(Err(RemoteError::closed())),
        }
    }

    /// Why there is no connection; `None` when there is one, or while the first attempt is under way.
    pub fn failure(&self) -> Option<RemoteError> {
        match &*self.0.borrow() {
            State::Connecting | State::Up(_) => None,
            State::Down(reason) => Some(reason.not_connected()),
            State::Closed => Some(RemoteError::closed()),
        }
    }

    /// What brought the last connection or attempt down, while there is none.
    pub fn reason(&self) -> Option<RemoteError> {
        match &*self.0.borrow() {
            State::Down(reason) => Some(reason.clone()),
            State::Connecting | State::Up(_) | State::Closed => None,
        }
    }

    /// The connection; waits for the first attempt's outcome, and no further.
    pub async fn settled(&self) -> Result<T, RemoteError> {
        if let Some(settled) = self.now() {
            return settled;
        }
        self.until(|state| !matches!(state, State::Connecting)).await;
        self.now().unwrap_or_else(|| Err(RemoteError::closed()))
    }

    /// Waits for a connection, however many attempts it takes.
    pub async fn until_up(&self) -> Result<T, RemoteError> {
        loop {
            self.until(|state| matches!(state, State::Up(_) | State::Closed)).await;
            // It may be down again by now.
            if let (Status::Ready | Status::Closed, Some(outcome)) = (self.status(), self.now()) {
                return outcome;
            }
        }
    }

    pub async fn until_closed(&self) {
        self.until(|state| matches!(state, State::Closed)).await;
    }

    pub fn status(&self) -> Status {
        self.0.borrow().status()
    }

    pub fn set_up(&self, connection: T) -> Option<Status> {
        self.set(State::Up(connection))
    }

    pub fn set_down(&self, reason: RemoteError) -> Option<Status> {
        self.set(State::Down(reason))
    }

    pub fn set_closed(&self) -> Option<Status> {
        self.set(State::Closed)
    }

    /// Returns the new status when it is another one; a new reason for the old one wakes nobody.
    fn set(&self, next: State<T>) -> Option<Status> {
        let status = next.status();
        let mut changed = false;
        self.0.send_if_modified(|state| {
            changed = !matches!(state, State::Closed) && state.status() != status;
            if changed || matches!(state, State::Down(_)) {
                *state = next;
            }
            changed
        });
        changed.then_some(status)
    }

    async fn until(&self, wanted: impl FnMut(&State<T>) -> bool) {
        // Fails only without a sender, and that is `self`.
        let _ = self.0.subscribe().wait_for(wanted).await;
    }
}
