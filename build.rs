//! Tells the linker what a Node addon needs.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
