//! The header that is checked in.

use std::{env, fs};

use super::folder;

/// With `TOLLGATE_WRITE_HEADER` set it writes it instead.
#[test]
fn the_header_is_what_the_source_says() {
    let config = cbindgen::Config::from_root_or_default(folder());
    let mut text = Vec::new();
    cbindgen::Builder::new().with_crate(folder()).with_config(config).generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let path = folder().join("include/tollgate.h");
    if env::var_os("TOLLGATE_WRITE_HEADER").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let old = fs::read_to_string(&path).unwrap_or_default();
    assert!(old == text, "write it anew: TOLLGATE_WRITE_HEADER=1 cargo test -p tollgate-capi header");
}
