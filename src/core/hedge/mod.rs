//! Hedging: when a call is late, and whether one more attempt may be afforded.
//!
//! [`window`] says after how long a call counts as late, [`budget`] how many hedges the calls so far
//! have earned, [`gate`] whether this is a moment for extra work at all. [`read`] is the three of
//! them for a cache read.

pub mod budget;
pub mod gate;
pub mod read;
pub mod window;
