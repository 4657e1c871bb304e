use crate::core::envelope::Payload;
use crate::core::error::{FrameError, FrameMiss};
use crate::core::frame::{self, Encoding, HEADER_BYTES, PLACEHOLDER_VERSION, VERSION};
use crate::core::watermark;

/// The bytes of a value and, after its first byte's number of them, of a watermark.
///
/// # Panics
/// When a frame is read as another than it is.
pub fn frame(data: &[u8]) {
    let Some((&split, data)) = data.split_first() else {
        return;
    };
    let (watermark, raw) = data.split_at(usize::from(split).min(data.len()));
    match frame::decode(raw) {
        Ok(read) => {
            assert_eq!(frame::created_at_ms(raw), Some(read.created_at_ms));
            assert_eq!(read.body, &raw[HEADER_BYTES..]);
            let mut again = frame::header(read.created_at_ms, read.encoding).to_vec();
            again.extend_from_slice(read.body);
            assert_eq!(again, raw, "what is read is what would be written");
            if read.encoding == Encoding::Binary {
                let mut again = Vec::new();
                frame::encode(read.created_at_ms, &Payload::Bytes(read.body.to_vec()), &mut again);
                assert_eq!(again, raw);
            }
        }
        Err(FrameError::Miss(FrameMiss::Short)) => assert!(raw.len() < HEADER_BYTES),
        Err(FrameError::Miss(FrameMiss::Placeholder)) => assert_eq!(raw[0], PLACEHOLDER_VERSION),
        Err(FrameError::Miss(FrameMiss::Version)) => assert!(raw[0] > VERSION),
        Err(FrameError::Miss(FrameMiss::Timestamp)) => assert!(raw[1] > 0 || raw[2] >= 0x20),
        Err(FrameError::UnknownEncoding(encoding)) => assert!(encoding == raw[9] && encoding > 1),
    }
    if let Some(at) = frame::created_at_ms(raw) {
        let admits = watermark::admits(Some(watermark), at);
        assert!(!watermark::admits(None, at), "without a watermark nothing is served");
        assert_eq!(admits, reference(watermark).is_some_and(|mark| mark < u128::from(at)));
    }
}

/// A watermark, read digit by digit; as good as endless from 2^64 on.
fn reference(raw: &[u8]) -> Option<u128> {
    if raw.is_empty() {
        return None;
    }
    raw.iter().try_fold(0_u128, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        Some((number * 10 + u128::from(digit)).min(1 << 64))
    })
}
