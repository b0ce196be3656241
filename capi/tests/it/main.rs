//! The interface as those see it who use it: a C compiler, and nginx with its Lua module.

mod c_program;
#[path = "../../examples/nginx/server.rs"]
mod example;
mod header;
mod nginx;

use std::path::{Path, PathBuf};

/// The package's folder.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the libraries are that were built with this test.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().to_path_buf()
}
