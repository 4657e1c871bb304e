//! Use cases, and the identities they share.

use std::time::Duration;

use super::super::Nanos;
use super::super::error::KeyError;
use super::super::hedge::read::{ReadDelay, ReadHedge};
use super::super::key::KeyScheme;
use super::super::metrics::{Counter, CounterList, Counters};
use super::super::policy::Policy;

/// A registered use case's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UseCaseId(pub u32);

/// What a use case is registered with.
#[derive(Clone, Debug)]
pub struct UseCaseOptions<'a> {
    /// Kind of id.
    pub key_type: &'a str,
    /// The use case's name.
    pub use_case: &'a str,
    /// Whether its values can be invalidated.
    pub tracked: bool,
    /// What its calls are made with, unless one brings its own.
    pub call: CallOptions,
}

/// What a call is made with.
#[derive(Clone, Copy, Debug)]
pub struct CallOptions {
    /// Which layers it uses.
    pub policy: Policy,
    /// How long a leader waits for Redis. Ignored without Redis.
    pub read_timeout: Duration,
    /// How long the source may run; `None`: for ever.
    pub source_timeout: Option<Duration>,
    /// When a read is hedged; `None`: never.
    pub read_hedge: Option<ReadDelay>,
}

/// Names a use case's entries, flights and counters. Use cases registered under one key type and
/// name share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpaceId(pub(super) u32);

pub(super) struct Space {
    pub(super) scheme: KeyScheme,
    pub(super) key_type: Box<str>,
    pub(super) use_case: Box<str>,
    pub(super) counters: Counters,
    /// What its hedged reads share.
    pub(super) hedge: Option<ReadHedge>,
}

pub(super) struct UseCase {
    pub(super) space: SpaceId,
    pub(super) call: CallOptions,
}

/// The reserved use case name.
const WATERMARK: &str = "watermark";

pub(super) struct Registry {
    namespace: String,
    spaces: Vec<Space>,
    counted: CounterList,
    use_cases: Vec<UseCase>,
}

impl Registry {
    pub(super) fn new(namespace: String) -> Self {
        Self {
            namespace,
            spaces: Vec::new(),
            counted: CounterList::default(),
            use_cases: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, options: &UseCaseOptions<'_>) -> Result<UseCaseId, KeyError> {
        let space = self.space_for(options.key_type, options.use_case, options.tracked)?;
        self.use_cases.push(UseCase {
            space,
            call: options.call,
        });
        Ok(UseCaseId(number(self.use_cases.len() - 1)))
    }

    fn space_for(&mut self, key_type: &str, use_case: &str, tracked: bool) -> Result<SpaceId, KeyError> {
        let known = |space: &Space| {
            *space.key_type == *key_type && *space.use_case == *use_case && space.scheme.tracked() == tracked
        };
        if let Some(position) = self.spaces.iter().position(known) {
            return Ok(SpaceId(number(position)));
        }
        self.spaces.push(Space {
            scheme: KeyScheme::new(&self.namespace, key_type, use_case, tracked)?,
            key_type: key_type.into(),
            use_case: use_case.into(),
            counters: self.counted.counters(key_type, use_case),
            hedge: None,
        });
        Ok(SpaceId(number(self.spaces.len() - 1)))
    }

    /// The key under which an id's watermark is kept.
    pub(super) fn watermark_key(&self, key_type: &str, id: &str) -> Result<String, KeyError> {
        KeyScheme::new(&self.namespace, key_type, WATERMARK, true)?.watermark_key(id)
    }

    pub(super) fn use_case(&self, id: UseCaseId) -> &UseCase {
        &self.use_cases[id.0 as usize]
    }

    pub(super) fn space(&self, id: SpaceId) -> &Space {
        &self.spaces[id.0 as usize]
    }

    pub(super) fn hedge(&mut self, id: SpaceId) -> Option<&mut ReadHedge> {
        self.spaces[id.0 as usize].hedge.as_mut()
    }

    /// The hedge that a use case's reads share, made at the first of them.
    pub(super) fn hedge_for(
        &mut self,
        id: SpaceId,
        delay: ReadDelay,
        read_timeout: Duration,
    ) -> Option<&mut ReadHedge> {
        let hedge = &mut self.spaces[id.0 as usize].hedge;
        if hedge.is_none() {
            // What is out of range was refused at registration.
            *hedge = ReadHedge::new(delay, millis(read_timeout)).ok();
        }
        hedge.as_mut()
    }

    pub(super) fn space_of(&self, id: UseCaseId) -> &Space {
        self.space(self.use_case(id).space)
    }

    pub(super) fn counters(&self, id: SpaceId) -> &Counters {
        &self.space(id).counters
    }

    pub(super) fn count(&self, id: UseCaseId, counter: Counter) {
        let space = self.use_case(id).space;
        self.counters(space).add(counter);
    }

    pub(super) fn take_back(&self, id: UseCaseId, counter: Counter) {
        let space = self.use_case(id).space;
        self.counters(space).take_back(counter);
    }

    /// The counters of all spaces, by their names.
    pub(super) const fn counted(&self) -> &CounterList {
        &self.counted
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

pub(super) fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
