use crate::remote::fuzzing;

/// A client's URL, or its nodes.
///
/// # Panics
/// When an error quotes what may be a password.
pub fn url(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        fuzzing::url(text);
    }
}
