use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub use std::sync::PoisonError;

pub use loom::sync::{Mutex, MutexGuard};

/// tokio's `Notify` for a single waiter: a wake that comes too early is kept, several are one.
pub struct Notify(Mutex<Notified>);

#[derive(Default)]
struct Notified {
    permit: bool,
    waiter: Option<Waker>,
}

impl Notify {
    pub fn new() -> Self {
        Self(Mutex::new(Notified::default()))
    }

    pub fn notify_one(&self) {
        let waiter = {
            let mut notified = self.lock();
            notified.permit = true;
            notified.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    pub fn notified(&self) -> Waiting<'_> {
        Waiting(self)
    }

    fn lock(&self) -> MutexGuard<'_, Notified> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

pub struct Waiting<'a>(&'a Notify);

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut notified = self.0.lock();
        if std::mem::take(&mut notified.permit) {
            return Poll::Ready(());
        }
        notified.waiter = Some(context.waker().clone());
        Poll::Pending
    }
}
