//! What a call's priority presets.

use super::super::error::OptionError;

/// How urgent a call is. It only changes defaults: what is named for the call or for the source goes
/// before it, and no policy is turned on by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for it.
    High,
    /// The usual.
    Normal,
    /// Background work.
    Low,
}

/// The defaults of a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// How long the whole operation may take, in milliseconds.
    pub timeout_ms: u32,
    /// When it is hedged, in milliseconds; also while `"auto"` knows too little.
    pub hedge_delay_ms: u32,
    /// How many attempts it is worth.
    pub max_attempts: u32,
}

impl Priority {
    /// The priority of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn parse(name: &str) -> Result<Self, OptionError> {
        match name {
            "high" => Ok(Self::High),
            "normal" => Ok(Self::Normal),
            "low" => Ok(Self::Low),
            _ => Err(OptionError::UnknownName {
                option: "priority",
                known: "\"high\", \"normal\", \"low\"",
                value: name.into(),
            }),
        }
    }

    /// What it presets.
    #[must_use]
    pub const fn preset(self) -> Preset {
        let (timeout_ms, hedge_delay_ms, max_attempts) = match self {
            Self::High => (8_000, 120, 5),
            Self::Normal => (15_000, 200, 4),
            Self::Low => (25_000, 350, 2),
        };
        Preset {
            timeout_ms,
            hedge_delay_ms,
            max_attempts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_priorities_and_others_are_refused() {
        for (name, priority) in [
            ("high", Priority::High),
            ("normal", Priority::Normal),
            ("low", Priority::Low),
        ] {
            assert_eq!(Priority::parse(name), Ok(priority));
        }
        let error = Priority::parse("urgent").expect_err("unknown").to_string();
        assert_eq!(
            error,
            "priority must be one of \"high\", \"normal\", \"low\", got \"urgent\""
        );
    }
}
