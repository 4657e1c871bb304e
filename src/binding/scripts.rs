//! The text of the Lua scripts, for clients in JavaScript: the same files that the native client sends.

use napi_derive::napi;

/// Makes a placeholder servable, unless an invalidation bars it.
#[napi]
#[cfg_attr(
    test,
    allow(
        dead_code,
        reason = "the macros export nothing to unit tests, which run without Node"
    )
)]
pub const STAMP_SCRIPT: &str = include_str!("../remote/scripts/stamp.lua");

/// Raises a watermark.
#[napi]
#[cfg_attr(
    test,
    allow(
        dead_code,
        reason = "the macros export nothing to unit tests, which run without Node"
    )
)]
pub const INVALIDATE_SCRIPT: &str = include_str!("../remote/scripts/invalidate.lua");
