//! The calls made on every lookup, and at every step of a miss, as plain Node-API functions.
//!
//! A `#[napi]` method costs three to ten times what these do, for conversions they do not need. This
//! file and [`super::wake`] hold all the `unsafe` there is.

#![expect(unsafe_code, reason = "Node-API is a C interface; each block says why it is sound")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::bindgen_prelude::{Env, FromNapiValue, Unknown};
use napi::{check_status, sys};

use super::cell::EngineCell;
use super::codes::{self, Start};
use super::source_cell::{self, SourceCell};
use super::steps;
use crate::core::engine::UseCaseId;
use crate::core::flight::FlightId;

/// Room for nearly every id. Longer ones are read again into the heap.
const BUFFER: usize = 256;
/// Longest UTF-8 sequence. Node cuts a string that does not fit at a whole character, so a copy that
/// ends this close to the buffer's end may be cut.
const LONGEST_CHAR: usize = 4;
/// U+FFFD in UTF-8: what Node makes of an unpaired surrogate, or a character that was there.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

struct Lookup {
    cell: Rc<EngineCell>,
    use_case: UseCaseId,
}

struct Step {
    cell: Rc<EngineCell>,
    run: steps::Run,
}

struct SourceCall {
    cell: Rc<SourceCell>,
    run: source_cell::Run,
}

/// What a plain function is made of: its own data, and two arguments.
trait Plain: 'static {
    /// Answers a call. An argument that was not given is null.
    fn call(&self, env: sys::napi_env, arguments: [sys::napi_value; 2]) -> i32;
}

/// Makes `(id: string, args?: string) => number`: see [`codes::start`].
pub fn lookup_function(env: &Env, cell: Rc<EngineCell>, use_case: UseCaseId) -> napi::Result<Unknown<'_>> {
    function(env, Lookup { cell, use_case })
}

/// Makes `(flight: number, detail?: number) => number`: see [`steps::run`].
pub fn step_function(env: &Env, cell: Rc<EngineCell>, run: steps::Run) -> napi::Result<Unknown<'_>> {
    function(env, Step { cell, run })
}

/// Makes `(first?: number, second?: number) => number`: see [`source_cell::run`].
pub fn source_function(env: &Env, cell: Rc<SourceCell>, run: source_cell::Run) -> napi::Result<Unknown<'_>> {
    function(env, SourceCall { cell, run })
}

fn function<T: Plain>(env: &Env, plain: T) -> napi::Result<Unknown<'_>> {
    let data = Box::into_raw(Box::new(plain)).cast::<c_void>();
    let mut function = ptr::null_mut();
    // SAFETY: `env` is the running environment, and `data` lives until the function is finalized.
    check_status!(unsafe {
        sys::napi_create_function(env.raw(), ptr::null(), 0, Some(call::<T>), data, &raw mut function)
    })?;
    // SAFETY: as above; the finalizer is the only one to free `data`, and runs once.
    check_status!(unsafe {
        sys::napi_add_finalizer(
            env.raw(),
            function,
            data,
            Some(finalize::<T>),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })?;
    // SAFETY: `function` was just created in this environment's open handle scope.
    unsafe { Unknown::from_napi_value(env.raw(), function) }
}

unsafe extern "C" fn finalize<T: Plain>(_: sys::napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: `data` came from `Box::into_raw` of a `T` in `function`, and finalizers run once.
    drop(unsafe { Box::from_raw(data.cast::<T>()) });
}

unsafe extern "C" fn call<T: Plain>(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut arguments = [ptr::null_mut(); 2];
    let mut count = arguments.len();
    let mut data = ptr::null_mut();
    // SAFETY: Node calls with a valid `env` and `info`; the out pointers live on this stack.
    let status = unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            arguments.as_mut_ptr(),
            ptr::null_mut(),
            &raw mut data,
        )
    };
    if status != sys::Status::napi_ok {
        return ptr::null_mut();
    }
    // SAFETY: `data` is the `T` this function was created with; the function is alive, so it is.
    let this = unsafe { &*data.cast::<T>() };
    let given = |place: usize| {
        if place < count {
            arguments[place]
        } else {
            ptr::null_mut()
        }
    };
    let answer = catch_unwind(AssertUnwindSafe(|| this.call(env, [given(0), given(1)])));
    let Ok(answer) = answer else {
        throw_bug(env);
        return ptr::null_mut();
    };
    let mut value = ptr::null_mut();
    // SAFETY: `env` is valid and the out pointer lives on this stack.
    unsafe { sys::napi_create_int32(env, answer, &raw mut value) };
    value
}

impl Plain for Lookup {
    fn call(&self, env: sys::napi_env, [id, args]: [sys::napi_value; 2]) -> i32 {
        let mut id_buffer = [0; BUFFER];
        let mut args_buffer = [0; BUFFER];
        let (mut id_heap, mut args_heap) = (String::new(), String::new());
        let Some(id) = read_text(env, id, &mut id_buffer, &mut id_heap) else {
            return codes::start(Start::KeyError, 0, false);
        };
        let args = if args.is_null() {
            ""
        } else {
            match read_text(env, args, &mut args_buffer, &mut args_heap) {
                Some(args) => args,
                None => return codes::start(Start::KeyError, 0, false),
            }
        };
        self.cell.begin(self.use_case, None, id, args)
    }
}

impl Plain for Step {
    fn call(&self, env: sys::napi_env, [flight, detail]: [sys::napi_value; 2]) -> i32 {
        (self.run)(&self.cell, FlightId(read_number(env, flight)), read_number(env, detail))
    }
}

impl Plain for SourceCall {
    fn call(&self, env: sys::napi_env, [first, second]: [sys::napi_value; 2]) -> i32 {
        (self.run)(&self.cell, read_number(env, first), read_number(env, second))
    }
}

/// Reads a number; 0 for anything else.
fn read_number(env: sys::napi_env, value: sys::napi_value) -> u32 {
    let mut number = 0;
    if !value.is_null() {
        // SAFETY: `env` and `value` come from the running call; without a number, nothing is written.
        unsafe { sys::napi_get_value_uint32(env, value, &raw mut number) };
    }
    number
}

/// Reads a well-formed string; `None` for anything else.
fn read_text<'buffer>(
    env: sys::napi_env,
    value: sys::napi_value,
    buffer: &'buffer mut [u8; BUFFER],
    heap: &'buffer mut String,
) -> Option<&'buffer str> {
    let mut length = 0;
    // SAFETY: `env` and `value` come from the running call; Node writes at most `BUFFER` bytes.
    let status =
        unsafe { sys::napi_get_value_string_utf8(env, value, buffer.as_mut_ptr().cast(), BUFFER, &raw mut length) };
    if status != sys::Status::napi_ok {
        return None;
    }
    let bytes = buffer.get(..length)?;
    let whole = length + LONGEST_CHAR < BUFFER;
    if whole && !holds_replacement(bytes) {
        return str::from_utf8(bytes).ok();
    }
    *heap = String::from_utf16(&read_utf16(env, value)?).ok()?;
    Some(heap)
}

fn holds_replacement(bytes: &[u8]) -> bool {
    bytes.contains(&REPLACEMENT[0]) && bytes.windows(REPLACEMENT.len()).any(|window| window == REPLACEMENT)
}

fn read_utf16(env: sys::napi_env, value: sys::napi_value) -> Option<Vec<u16>> {
    let mut length = 0;
    // SAFETY: without a buffer Node only writes the length.
    let status = unsafe { sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &raw mut length) };
    if status != sys::Status::napi_ok {
        return None;
    }
    let mut units = vec![0_u16; length + 1];
    // SAFETY: the buffer holds the string and the terminator that Node adds.
    let status =
        unsafe { sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), units.len(), &raw mut length) };
    if status != sys::Status::napi_ok {
        return None;
    }
    units.truncate(length);
    Some(units)
}

fn throw_bug(env: sys::napi_env) {
    // SAFETY: both texts are NUL-terminated and static; `env` is the running call's.
    unsafe {
        sys::napi_throw_error(
            env,
            c"DIALCACHE_BUG".as_ptr(),
            c"dialcache-native: a bug in the native engine was caught; please report it".as_ptr(),
        );
    }
}
