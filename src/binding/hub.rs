//! The environment's hub: it makes engines and clients, and hands events over in batches.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use napi::bindgen_prelude::{Array, Env, Function};
use napi_derive::napi;

use super::batch::Batch;
use super::client::{ClientConfig, NativeClient};
use super::engine::{EngineConfig, NativeEngine};
use super::lines::Lines;
use super::mailbox::Mailbox;
use super::wake::{Hold, Wake};

/// Most events handed over in one turn of the event loop, and most payload bytes with them: an
/// unbounded batch would keep timers waiting. Parsing a batch of JSON takes about a millisecond.
const BATCH_EVENTS: usize = 128;
const BATCH_BYTES: usize = 256 << 10;

/// One environment's hub.
#[napi]
pub struct Hub {
    lines: Rc<Lines>,
    wake: Wake,
    epoch: Instant,
}

#[napi]
impl Hub {
    /// `on_wake` is called when events wait, `go_on` when [`Hub::later`] was: neither must throw.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, on_wake: Function<'_, (), ()>, go_on: Function<'_, (), ()>) -> napi::Result<Self> {
        let wake = Wake::new(&on_wake, &go_on)?;
        let mailbox = Arc::new(Mailbox::new(wake.clone()));
        let lines = Rc::new(Lines::new(mailbox, Hold::new(env, wake.clone())));
        // Registered after the threadsafe function and therefore run before its end: the I/O thread
        // is gone before what it calls is.
        env.add_env_cleanup_hook(Rc::clone(&lines), |lines| lines.io().shutdown())?;
        Ok(Self {
            lines,
            wake,
            epoch: Instant::now(),
        })
    }

    /// Makes the engine of one `DialCache` instance.
    #[napi(catch_unwind)]
    pub fn engine(&self, config: EngineConfig) -> NativeEngine {
        NativeEngine::new(config, self.epoch, Rc::clone(&self.lines))
    }

    /// Makes a client, which connects in the background.
    #[napi(catch_unwind)]
    pub fn connect(&self, config: ClientConfig) -> napi::Result<NativeClient> {
        NativeClient::connect(config, Rc::clone(&self.lines))
    }

    /// What has happened, four places an event: see [`Batch`]. Takes what is there, up to a bound.
    /// After the wake [`Hub::rest`] must follow, or nothing wakes again.
    #[napi(catch_unwind)]
    pub fn drain<'env>(&self, env: &'env Env) -> napi::Result<Array<'env>> {
        let mut letters = self.lines.letters();
        let mut batch = Batch::new(env, &self.lines)?;
        while batch.events() < BATCH_EVENTS && batch.bytes() < BATCH_BYTES {
            let Some(letter) = letters.next() else { break };
            batch.add(letter)?;
        }
        Ok(batch.into_array())
    }

    /// Has the other function called once the running one and its continuations are over.
    #[napi(catch_unwind)]
    pub fn later(&self) {
        self.wake.call_later();
    }

    /// Wakes as an event does: after timers and sockets had their turn.
    #[napi(catch_unwind)]
    pub fn wake(&self) {
        self.wake.call();
    }

    /// Whether the next event will wake. If not, some are there: drain again in a later turn.
    #[napi(catch_unwind)]
    pub fn rest(&self) -> bool {
        self.lines.rest()
    }

    /// How many requests are waited for.
    #[napi(catch_unwind)]
    pub fn waiting(&self) -> u32 {
        self.lines.waiting()
    }
}
