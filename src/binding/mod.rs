//! The Node-API side: the only folder that knows JavaScript.
//!
//! One [`hub::Hub`] per environment owns the I/O thread and brings its events to the JavaScript
//! thread; one [`engine::NativeEngine`] per `DialCache` instance decides. The calls that every lookup
//! makes are in [`raw`]; everything else uses the `#[napi]` macros.

mod batch;
mod cell;
mod client;
mod clock;
mod codes;
mod engine;
mod envelope;
mod figures;
mod hub;
mod lines;
mod mailbox;
mod passage;
mod payload;
mod policy;
mod post;
mod raw;
mod scripts;
mod shadow;
mod source;
mod source_cell;
mod source_options;
mod steps;
mod wake;
