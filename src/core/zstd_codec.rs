//! zstd with reused contexts and bounded memory.
//!
//! Setting a context up costs more than compressing a kilobyte, so each thread keeps its own. What
//! comes out of Redis is not trusted: neither a size that a frame states nor one it hides may make
//! us allocate more than its bytes can stand for, or more than the caller's bound.

use std::cell::{Cell, RefCell};
use std::io::Cursor;

use zstd::zstd_safe::{
    CCtx, DCtx, InBuffer, OutBuffer, ResetDirective, find_frame_compressed_size, get_frame_content_size,
};

/// The most that one zstd block holds, and the fewest bytes it takes (a header and a byte to
/// repeat).
const BLOCK_BYTES: usize = 128 << 10;
const BLOCK_MIN_BYTES: usize = 4;

/// Contexts keep the memory of the biggest payload they met; bigger ones than this are dropped.
const MAX_KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static COMPRESSOR: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// How often the calling thread has compressed or decompressed something.
pub fn runs_here() -> u32 {
    RUNS.get()
}

/// Why [`decompress_within`] has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not whole zstd frames from the first byte to the last.
    Corrupt,
    /// More bytes than the bound.
    TooBig,
}

/// Why [`compress_after`] has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncompressed {
    /// It takes more than the permitted bytes.
    NotSmaller,
    /// The compressor failed: there was no memory for it.
    Failed,
}

/// How zstd says that it ran out of room, `dstSize_tooSmall` of its `zstd_errors.h`, where the
/// numbers are fixed since 1.3.1.
const NO_ROOM: usize = 0_usize.wrapping_sub(70);

/// `first` and then `plain` as one zstd frame, unless that takes more than `max_bytes`.
pub fn compress_after(first: u8, plain: &[u8], level: i32, max_bytes: usize) -> Result<Vec<u8>, Uncompressed> {
    let mut out = Cursor::new(Vec::with_capacity(max_bytes));
    out.get_mut().push(first);
    out.set_position(1);
    RUNS.set(RUNS.get().wrapping_add(1));
    COMPRESSOR.with_borrow_mut(|kept| {
        let mut context = kept.take().or_else(CCtx::try_create).ok_or(Uncompressed::Failed)?;
        let done = context.compress(&mut out, plain, level);
        if context.sizeof() <= MAX_KEPT_BYTES {
            *kept = Some(context);
        }
        done.map_err(|code| {
            if code == NO_ROOM {
                Uncompressed::NotSmaller
            } else {
                Uncompressed::Failed
            }
        })
    })?;
    let mut out = out.into_inner();
    // with_capacity may have given more room than was asked for.
    if out.len() > max_bytes {
        return Err(Uncompressed::NotSmaller);
    }
    out.shrink_to_fit();
    Ok(out)
}

/// The content size that a single frame states; `None` for anything else.
pub fn stated_bytes(compressed: &[u8]) -> Option<usize> {
    if find_frame_compressed_size(compressed) != Ok(compressed.len()) {
        return None;
    }
    let stated = get_frame_content_size(compressed).ok().flatten()?;
    usize::try_from(stated).ok()
}

/// The content of all the frames that `compressed` consists of, at most `max_bytes`.
pub fn decompress_within(compressed: &[u8], max_bytes: usize) -> Result<Vec<u8>, Refusal> {
    if compressed.is_empty() {
        return Err(Refusal::Corrupt);
    }
    RUNS.set(RUNS.get().wrapping_add(1));
    let stated_bytes = get_frame_content_size(compressed).map_err(|_| Refusal::Corrupt)?;
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let mut context = kept.take().or_else(DCtx::try_create).ok_or(Refusal::Corrupt)?;
        let plain = match stated_bytes {
            Some(bytes) if find_frame_compressed_size(compressed) == Ok(compressed.len()) => {
                decompress_sized(&mut context, compressed, bytes, max_bytes)
            }
            _ => decompress_unsized(&mut context, compressed, max_bytes),
        };
        if context.sizeof() <= MAX_KEPT_BYTES {
            *kept = Some(context);
        }
        plain
    })
}

/// One frame that states its size: the usual case, and the one that needs no window.
fn decompress_sized(
    context: &mut DCtx<'_>,
    compressed: &[u8],
    content_bytes: u64,
    max_bytes: usize,
) -> Result<Vec<u8>, Refusal> {
    let content_bytes = usize::try_from(content_bytes).map_err(|_| Refusal::TooBig)?;
    if content_bytes > max_bytes {
        return Err(Refusal::TooBig);
    }
    if content_bytes.div_ceil(BLOCK_BYTES) > compressed.len() / BLOCK_MIN_BYTES {
        return Err(Refusal::Corrupt);
    }
    let mut plain = Vec::new();
    plain.try_reserve_exact(content_bytes).map_err(|_| Refusal::TooBig)?;
    context
        .decompress(&mut plain, compressed)
        .map_err(|_| Refusal::Corrupt)?;
    Ok(plain)
}

/// Any number of frames, of any size, piece by piece.
fn decompress_unsized(context: &mut DCtx<'_>, compressed: &[u8], max_bytes: usize) -> Result<Vec<u8>, Refusal> {
    context
        .reset(ResetDirective::SessionOnly)
        .map_err(|_| Refusal::Corrupt)?;
    let mut input = InBuffer::around(compressed);
    let mut plain: Vec<u8> = Vec::new();
    loop {
        if plain.len() > max_bytes {
            return Err(Refusal::TooBig);
        }
        if plain.len() == plain.capacity() {
            // One byte past the bound tells a payload of just that size from a bigger one.
            let room = (max_bytes - plain.len()).saturating_add(1);
            let step = plain.len().max(BLOCK_BYTES).min(room);
            plain.try_reserve_exact(step).map_err(|_| Refusal::TooBig)?;
        }
        let written = plain.len();
        let mut output = OutBuffer::around_pos(&mut plain, written);
        let hint = context
            .decompress_stream(&mut output, &mut input)
            .map_err(|_| Refusal::Corrupt)?;
        let frame_over = hint == 0;
        let input_over = input.pos() == compressed.len();
        if input_over && frame_over {
            break;
        }
        if input_over && plain.len() < plain.capacity() {
            return Err(Refusal::Corrupt);
        }
    }
    if plain.len() > max_bytes {
        return Err(Refusal::TooBig);
    }
    plain.shrink_to_fit();
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_kept_for_the_next_payload_unless_it_has_grown_too_big() {
        let frame = compress_after(0, &[b'a'; 100], 3, 100).unwrap();
        assert!(COMPRESSOR.with_borrow(Option::is_some));
        assert_eq!(decompress_within(&frame[1..], 100), Ok(vec![b'a'; 100]));
        assert!(DECOMPRESSOR.with_borrow(Option::is_some));

        // A window of 64 MiB for five bytes, by hand: no size stated, one last raw block.
        let wide = *b"\x28\xb5\x2f\xfd\x00\x80\x29\x00\x00hello";
        assert_eq!(decompress_within(&wide, 100), Ok(b"hello".to_vec()));
        assert!(DECOMPRESSOR.with_borrow(Option::is_none));
        assert_eq!(decompress_within(&frame[1..], 100), Ok(vec![b'a'; 100]));
    }

    #[test]
    fn each_thread_counts_its_own_runs() {
        let before = runs_here();
        let frame = compress_after(0, &[b'a'; 100], 3, 100).unwrap();
        assert_eq!(runs_here(), before + 1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(decompress_within(&frame[1..], 100), Ok(vec![b'a'; 100]));
                assert_eq!(runs_here(), 1);
            });
        });
        assert_eq!(runs_here(), before + 1);
    }

    #[test]
    fn a_context_is_usable_after_a_frame_it_could_not_finish() {
        let whole = *b"\x28\xb5\x2f\xfd\x00\x00\x29\x00\x00hello";
        for length in 1..whole.len() {
            assert_eq!(decompress_within(&whole[..length], 100), Err(Refusal::Corrupt));
            assert_eq!(decompress_within(&whole, 100), Ok(b"hello".to_vec()));
            assert_eq!(decompress_within(&whole, 4), Err(Refusal::TooBig));
        }
    }
}
