//! The text of the Lua scripts, for clients in JavaScript: the same files that the native client sends.

use napi_derive::napi;

/// Makes a placeholder servable, unless an invalidation bars it.
#[napi]
pub const STAMP_SCRIPT: &str = include_str!("../remote/scripts/stamp.lua");

/// Raises a watermark.
#[napi]
pub const INVALIDATE_SCRIPT: &str = include_str!("../remote/scripts/invalidate.lua");
