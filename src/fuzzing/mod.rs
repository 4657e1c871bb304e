//! What is fuzzed: each function takes any bytes and panics when a promise is broken.
//!
//! `fuzz/` feeds them with what libFuzzer invents; the test here with the inputs that are kept.

mod envelope;
mod frame;
mod key;
#[cfg(feature = "remote")]
mod reply;
#[cfg(feature = "remote")]
mod url;

pub use envelope::envelope;
pub use frame::frame;
pub use key::key;
#[cfg(feature = "remote")]
pub use reply::reply;
#[cfg(feature = "remote")]
pub use url::url;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// Runs a target on everything that its corpus keeps.
    fn replay(name: &str, target: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
        let mut count = 0;
        for entry in fs::read_dir(&folder).expect("a corpus") {
            let path = entry.expect("a file of it").path();
            // The name of a file that panics, in the captured output.
            println!("{}", path.display());
            target(&fs::read(path).expect("its bytes"));
            count += 1;
        }
        assert!(count > 0, "{} is empty", folder.display());
    }

    #[test]
    fn the_corpus_of_frames_holds() {
        replay("frame", super::frame);
    }

    #[test]
    fn the_corpus_of_envelopes_holds() {
        replay("envelope", super::envelope);
    }

    #[test]
    fn the_corpus_of_keys_holds() {
        replay("key", super::key);
    }

    #[cfg(feature = "remote")]
    #[test]
    fn the_corpus_of_replies_holds() {
        replay("reply", super::reply);
    }

    #[cfg(feature = "remote")]
    #[test]
    fn the_corpus_of_urls_holds() {
        replay("url", super::url);
    }
}
