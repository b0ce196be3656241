//! How an adaptive rate follows an upstream that does not tell its limit, which steps down and up.
//!
//!     cargo run --example adaptation --features upstream
//!
//! Draws `docs/adaptation.svg` and prints the tables of `docs/adaptation.md`. The upstream is the one of the library's tests: a
//! bucket of its own that counts in floats.

#[path = "../tests/it/upstream/adapt/picture.rs"]
mod picture;
#[path = "../tests/it/upstream/adapt/silent.rs"]
mod silent;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let story = picture::Story::of_the_docs();
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/adaptation.svg"), story.picture())?;
    print!("{}\n{}", story.table(), picture::Story::others());
    Ok(())
}
