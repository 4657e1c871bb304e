//! The policies that are compared.

use dialcache_native::core::source::{HedgeDelay, HedgeOptions, SourceOptions};

/// Hedges for each call.
pub const RATIO: f64 = 0.10;
/// Hedges that can be saved up.
pub const BURST: u32 = 10;
/// Milliseconds of the fixed delay: the one of "The Tail at Scale".
pub const FIXED_MS: f64 = 10.0;

/// How a simulated source hedges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    None,
    Fixed,
    Auto,
}

impl Policy {
    pub const ALL: [Self; 3] = [Self::None, Self::Fixed, Self::Auto];

    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "no hedge",
            Self::Fixed => "fixed 10 ms",
            Self::Auto => "auto",
        }
    }

    /// A source with one endpoint and nothing but this policy; ratio and burst are the defaults.
    pub fn options(self) -> SourceOptions {
        let delay = match self {
            Self::None => None,
            Self::Fixed => Some(HedgeDelay::Fixed(FIXED_MS)),
            Self::Auto => Some(HedgeDelay::Auto),
        };
        SourceOptions {
            endpoints: 1,
            idempotent: true,
            hedge: delay.map(|delay| HedgeOptions {
                delay: Some(delay),
                ..HedgeOptions::default()
            }),
            ..SourceOptions::default()
        }
    }
}
