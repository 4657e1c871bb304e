use crate::remote::fuzzing;

/// Any bytes that a server may send, as each kind of reply that is waited for.
///
/// # Panics
/// When something of it is taken for what it is not.
pub fn reply(data: &[u8]) {
    fuzzing::reply(data);
}
