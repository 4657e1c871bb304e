//! The Lua scripts, called by hash and sent in full when the server does not know them.

use std::sync::LazyLock;

use redis::{Cmd, Value};

/// A script of ours.
pub(super) struct Script(LazyLock<redis::Script>, &'static str);

/// Stamps a placeholder with the server's time.
pub(super) static STAMP: Script = Script(LazyLock::new(|| redis::Script::new(STAMP_TEXT)), STAMP_TEXT);

/// Raises a watermark.
pub(super) static INVALIDATE: Script = Script(LazyLock::new(|| redis::Script::new(INVALIDATE_TEXT)), INVALIDATE_TEXT);

const STAMP_TEXT: &str = include_str!("scripts/stamp.lua");
const INVALIDATE_TEXT: &str = include_str!("scripts/invalidate.lua");

/// One call of a script.
pub(super) struct Call {
    pub script: &'static Script,
    pub keys: Vec<String>,
    pub arguments: Vec<Vec<u8>>,
}

impl Call {
    /// The call for a server that should know the script.
    pub fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", self.script.0.get_hash())
    }

    /// The call for a server that does not; it will know the script afterwards.
    pub fn in_full(&self) -> Cmd {
        self.command("EVAL", self.script.1)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command
            .arg(script)
            .arg(self.keys.len())
            .arg(&self.keys)
            .arg(&self.arguments);
        command
    }
}

/// Whether a server has to be sent the script itself: it was restarted, flushed, or is a new one.
pub(super) fn is_unknown(reply: &Value) -> bool {
    matches!(reply, Value::ServerError(error) if error.code() == "NOSCRIPT")
}
