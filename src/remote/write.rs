//! Writing a value.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

use redis::{Cmd, Pipeline, Value};

use crate::core::envelope::{self, SealOutcome, Sealed};
use crate::core::frame::{self, HEADER_BYTES};
use crate::core::watermark::Stamp;

use super::client::{Envelope, WriteRequest};
use super::connection::{Connection, checked};
use super::error::RemoteError;
use super::event::Sealing;
use super::pending::Pending;
use super::read::INLINE_BYTES;
use super::route::Route;
use super::scripts::{self, Call, STAMP};

/// Levels from here on take long even for a payload that is not big.
const SLOW_LEVEL: i32 = 10;

/// Writes and answers.
pub(super) async fn run(pending: Pending, request: WriteRequest) {
    let client = pending.client().clone();
    let mut sealing = None;
    let outcome = tokio::select! {
        biased;
        outcome = write(&pending, request, &mut sealing) => outcome,
        () = client.link.until_closed() => Err(RemoteError::closed()),
    };
    pending.finish_write(sealing, outcome);
}

async fn write(pending: &Pending, request: WriteRequest, sealing: &mut Option<Sealing>) -> Result<bool, RemoteError> {
    let mut route = Route::new(pending.client(), &request.value_key);
    let connection = route.connection().await?;
    let _window = connection.write_window(request.payload.len()).await?;
    let (prepared, sealed) = if is_slow(&request) {
        tokio::task::spawn_blocking(move || prepare(request))
            .await
            .map_err(|_| RemoteError::internal("compression failed, which is a bug"))?
    } else {
        prepare(request)
    };
    *sealing = Some(sealed);
    match prepared {
        Prepared::Untracked(set) => store(&mut route, connection.clone(), &set).await,
        Prepared::Tracked { commands, stamp } => set_and_stamp(&mut route, connection.clone(), &commands, &stamp).await,
    }
}

async fn store(route: &mut Route<'_>, mut connection: Arc<Connection>, set: &Cmd) -> Result<bool, RemoteError> {
    loop {
        let reply = route.send(&connection, set).await?;
        if !route.follow(&reply).await {
            return is_stored(&checked(reply)?);
        }
        connection = route.connection().await?;
    }
}

/// Stores a placeholder and makes it servable. Both go out together, so no round trip lies between
/// them; the payload is sent once to a server, whatever becomes of the stamp.
async fn set_and_stamp(
    route: &mut Route<'_>,
    mut connection: Arc<Connection>,
    commands: &Pipeline,
    stamp: &Call,
) -> Result<bool, RemoteError> {
    let mut stamped = loop {
        let replies = route.send_all(&connection, commands).await?;
        let [set, stamped] = replies.try_into().map_err(|_| RemoteError::protocol())?;
        if !route.follow(&set).await {
            is_stored(&checked(set)?)?;
            break stamped;
        }
        connection = route.connection().await?;
    };
    if scripts::is_unknown(&stamped) {
        stamped = route.send(&connection, &stamp.in_full()).await?;
    }
    while route.follow(&stamped).await {
        connection = route.connection().await?;
        stamped = route.run(&connection, stamp).await?;
    }
    is_accepted(&checked(stamped)?)
}

pub(super) fn is_stored(reply: &Value) -> Result<bool, RemoteError> {
    match reply {
        Value::Okay => Ok(true),
        _ => Err(RemoteError::unexpected_reply()),
    }
}

pub(super) fn is_accepted(reply: &Value) -> Result<bool, RemoteError> {
    let stamp = match reply {
        Value::Int(reply) => Stamp::from_reply(*reply),
        _ => None,
    };
    match stamp {
        Some(Stamp::Stamped) => Ok(true),
        Some(Stamp::Barred) => Ok(false),
        Some(Stamp::PlaceholderLost) => Err(RemoteError::placeholder_lost()),
        None => Err(RemoteError::unexpected_reply()),
    }
}

fn is_slow(request: &WriteRequest) -> bool {
    let bytes = request.payload.len();
    request.envelope == Envelope::Ours
        && request.compression.is_some_and(|compression| {
            bytes >= compression.threshold_bytes && (bytes > INLINE_BYTES || compression.level >= SLOW_LEVEL)
        })
}

/// The commands of a write.
enum Prepared {
    Untracked(Cmd),
    /// The placeholder's `SET` with the stamp, and the stamp alone.
    Tracked {
        commands: Pipeline,
        stamp: Call,
    },
}

fn prepare(request: WriteRequest) -> (Prepared, Sealing) {
    let payload_bytes = request.payload.len();
    let started = Instant::now();
    let sealed = match request.envelope {
        Envelope::Ours => envelope::seal(request.payload, request.compression),
        Envelope::Callers => Sealed {
            payload: request.payload,
            outcome: SealOutcome::Disabled,
            original_bytes: payload_bytes,
        },
    };
    let sealing = Sealing {
        outcome: sealed.outcome,
        payload_bytes,
        sealed_bytes: sealed.payload.len(),
        time: started.elapsed(),
    };
    let nonce = random_nonce();
    let mut framed = Vec::with_capacity(HEADER_BYTES + sealed.payload.len());
    match request.watermark_key {
        None => frame::encode(request.created_at_ms, &sealed.payload, &mut framed),
        Some(_) => frame::encode_placeholder(nonce, &sealed.payload, &mut framed),
    }
    drop(sealed);
    let mut set = redis::cmd("SET");
    set.arg(&request.value_key).arg(&framed).arg("PX").arg(request.ttl_ms);
    let prepared = match request.watermark_key {
        None => Prepared::Untracked(set),
        Some(watermark_key) => {
            let stamp = Call {
                script: &STAMP,
                keys: vec![request.value_key, watermark_key],
                arguments: vec![nonce.to_vec(), request.ttl_ms.to_string().into_bytes()],
            };
            let mut commands = Pipeline::with_capacity(2);
            commands.add_command(set).add_command(stamp.by_hash());
            Prepared::Tracked { commands, stamp }
        }
    };
    (prepared, sealing)
}

/// Tells this write's placeholder from any other: a fresh `RandomState` is randomly seeded.
fn random_nonce() -> [u8; 8] {
    RandomState::new().hash_one(0_u8).to_be_bytes()
}
