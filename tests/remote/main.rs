//! The Redis side against real servers and faulty sockets.

#![cfg(unix)]

mod budgets;
mod bursts;
mod closing;
mod cluster;
mod cluster_faults;
mod deadlines;
mod endpoints;
mod faults;
mod hostile;
mod invalidations;
mod liveness;
mod starting;
mod support;
mod tls;
mod tracked;
mod values;
mod watermarks;
