//! Calls that block for as long as the system likes, kept off the I/O thread.

use std::thread;

use tokio::sync::oneshot;

/// Runs `work` on a thread of its own. The runtime's blocking pool will not do: it has a single
/// thread, for decompression, and a name server that does not answer would occupy it for half a
/// minute.
pub(super) fn spawn<T, F>(name: &str, work: F) -> oneshot::Receiver<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    // When no thread can be had the sender is dropped, which the receiver reports.
    let _ = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _ = sender.send(work());
    });
    receiver
}
