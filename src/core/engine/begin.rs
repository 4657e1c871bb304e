//! A call's first step: the process-local layer, the flights, and who leads.

use std::time::Duration;

use super::super::Nanos;
use super::super::chain::Chain;
use super::super::error::KeyError;
use super::super::flight::{FlightId, NewFlight};
use super::super::key::KeyScheme;
use super::super::local::UNTRACKED;
use super::super::metrics::Counter;
use super::super::policy::{LayerPolicy, OffReason};
use super::super::ramp;
use super::registry::{CallOptions, SpaceId, UseCaseId, nanos};
use super::{ARGS, Begin, Engine, LayerTrace, ShadowPlan, Trace};

impl Engine {
    /// A call of a use case, with options of its own if it has some.
    ///
    /// `args` is empty or the encoded `?name=value&...` part of the key.
    ///
    /// # Errors
    /// When the id cannot be made into a key.
    pub fn begin(
        &mut self,
        use_case: UseCaseId,
        options: Option<&CallOptions>,
        id: &str,
        args: &str,
        now: Nanos,
    ) -> Result<Begin, KeyError> {
        let registered = self.registry.use_case(use_case);
        let space = registered.space;
        let CallOptions {
            policy,
            read_timeout,
            source_timeout,
            read_hedge,
        } = *options.unwrap_or(&registered.call);
        let read_wait = read_timeout;
        let read_timeout = nanos(read_timeout);
        self.trace = Trace::default();
        let scheme = &self.registry.space(space).scheme;
        let tracked = scheme.tracked();
        scheme.check_id(id)?;
        let group = if tracked {
            self.group_of(&self.registry.space(space).key_type, id)
        } else {
            UNTRACKED
        };
        self.compose_key(space, id, args);
        let mut composed = false;
        let admitted = self.layer(policy.local, "local", space, id, args, &mut composed)?;
        let local = match self.index {
            Some(_) => admitted,
            None => Err(OffReason::PolicyDisabled),
        };
        let remote = if self.remote {
            Some(self.layer(policy.remote, "remote", space, id, args, &mut composed)?)
        } else {
            None
        };
        let reads = remote.is_some_and(|layer| layer.is_ok());
        // An index without room keeps nothing, but callers that would have shared its values still share the work.
        let shared = policy.coalesce && (admitted.is_ok() || reads);
        let counters = self.registry.counters(space);
        if let Err(reason) = local {
            counters.add(Counter::local_off(reason));
            self.trace.local = LayerTrace::Off(reason);
        }

        if shared
            && !self.flights.nothing_to_join()
            && let Some(flight) = self.flights.join(&self.key, now)
        {
            counters.add(Counter::Coalesced);
            return Ok(Begin::Join(flight));
        }

        if local.is_ok() {
            counters.add(Counter::LocalRequest);
            if let Some(index) = &self.index
                && let Some(slot) = index.get(&self.key, now)
            {
                counters.add(Counter::LocalHit);
                self.trace.local = LayerTrace::Hit;
                return Ok(Begin::Hit(slot));
            }
            counters.add(Counter::LocalMiss);
            self.trace.local = LayerTrace::Miss;
        }

        let shadow = ShadowPlan::of(policy.shadow, remote, |percent| {
            let scheme = &self.registry.space(space).scheme;
            compose_logical(scheme, id, args, &mut self.logical, &mut composed)?;
            Ok(ramp::admits(percent, &self.logical, "shadow"))
        })?;
        let flight = self.flights.lead(
            &self.key,
            shared,
            NewFlight {
                use_case,
                chain: Chain::new(local.is_ok(), tracked),
                group,
                local_ttl: seconds(local.unwrap_or(0)),
                remote_ttl_ms: u64::from(remote.and_then(Result::ok).unwrap_or(0)) * 1_000,
                started_at: now,
                read_timeout,
                source_timeout: source_timeout.map(nanos),
                shadow,
            },
        );
        match remote {
            None => Ok(Begin::Source(flight)),
            Some(Err(reason)) => {
                counters.add(Counter::remote_off(reason));
                self.trace.remote = LayerTrace::Off(reason);
                Ok(Begin::Source(flight))
            }
            Some(Ok(_)) => {
                counters.add(Counter::RemoteRequest);
                counters.add(Counter::ReadDeadlineArmed);
                self.trace.remote = LayerTrace::Miss;
                let deadline = now.saturating_add(read_timeout);
                let hedge_at = read_hedge.and_then(|delay| self.hedge_at(space, delay, read_wait, now));
                if let Some(flight) = self.flights.get_mut(flight) {
                    flight.chain.read_started(deadline, hedge_at);
                }
                if self.times_reads {
                    self.deadlines.arm(flight.0, hedge_at.unwrap_or(deadline), true);
                }
                Ok(Begin::Read(flight))
            }
        }
    }

    /// A call that no key or no policy could be made for: its source runs with its deadline, and no
    /// layer is asked or counted.
    pub fn begin_uncached(&mut self, use_case: UseCaseId, options: Option<&CallOptions>, now: Nanos) -> FlightId {
        let CallOptions {
            read_timeout,
            source_timeout,
            ..
        } = *options.unwrap_or(&self.registry.use_case(use_case).call);
        self.trace = Trace::default();
        self.compose_key(self.registry.use_case(use_case).space, "", "");
        self.flights.lead(
            &self.key,
            false,
            NewFlight {
                use_case,
                chain: Chain::new(false, false),
                group: UNTRACKED,
                local_ttl: 0,
                remote_ttl_ms: 0,
                started_at: now,
                read_timeout: nanos(read_timeout),
                source_timeout: source_timeout.map(nanos),
                shadow: ShadowPlan::None,
            },
        )
    }

    /// The layer's lifetime in seconds, or why it is off.
    fn layer(
        &mut self,
        policy: LayerPolicy,
        layer: &str,
        space: SpaceId,
        id: &str,
        args: &str,
        composed: &mut bool,
    ) -> Result<Result<u32, OffReason>, KeyError> {
        let (ttl_sec, ramp) = match policy {
            LayerPolicy::On { ttl_sec, ramp } => (ttl_sec, ramp),
            LayerPolicy::Off(reason) => return Ok(Err(reason)),
        };
        if ramp >= 100.0 {
            return Ok(Ok(ttl_sec));
        }
        let scheme = &self.registry.space(space).scheme;
        compose_logical(scheme, id, args, &mut self.logical, composed)?;
        let admitted = ramp::admits(ramp, &self.logical, layer);
        Ok(if admitted {
            Ok(ttl_sec)
        } else {
            Err(OffReason::RampedDown)
        })
    }

    fn compose_key(&mut self, space: SpaceId, id: &str, args: &str) {
        self.key.clear();
        self.key.extend_from_slice(&space.0.to_le_bytes());
        self.key.extend_from_slice(id.as_bytes());
        if !args.is_empty() {
            self.key.push(ARGS);
            self.key.extend_from_slice(args.as_bytes());
        }
    }
}

/// Puts the logical key into `logical`, unless that was done for this call.
fn compose_logical(
    scheme: &KeyScheme,
    id: &str,
    args: &str,
    logical: &mut String,
    composed: &mut bool,
) -> Result<(), KeyError> {
    if !*composed {
        logical.clear();
        scheme.write_logical(id, args, logical)?;
        *composed = true;
    }
    Ok(())
}

fn seconds(ttl_sec: u32) -> Nanos {
    nanos(Duration::from_secs(u64::from(ttl_sec)))
}
