//! The package's queues, as they are, over primitives whose every interleaving loom can try.

#[path = "../../src/binding/post.rs"]
pub mod post;
#[path = "../../src/remote/queue.rs"]
pub mod queue;

/// What `src/sync.rs` is in the package.
pub mod sync;

/// Runs `body` once for every order of its threads' steps in which at most three times a thread is
/// interrupted that could go on: seconds, where all orders would take hours.
pub fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}
