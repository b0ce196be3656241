//! A C program, compiled with warnings denied against the header, and linked with the library in both of its forms.

use std::path::Path;
use std::process::{Command, Output};

use super::{built, folder};

/// What a static library of Rust needs of the system.
const SYSTEM: [&str; 4] = ["-lpthread", "-lm", "-ldl", "-lgcc_s"];

fn compiled(language: &str, into: &Path, library: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args(["-x", language, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    compiler.arg(folder().join("include")).arg(folder().join("tests/c/limits.c"));
    compiler.args(["-x", "none", "-o"]).arg(into).arg("-L").arg(built()).args(library);
    let Output { status, stderr, .. } = compiler.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}

fn runs(language: &str, library: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("limits");
    compiled(language, &program, library);
    let mut run = Command::new(&program);
    let status = run.arg(place.path().join("file")).env("LD_LIBRARY_PATH", built()).status().unwrap();
    assert_eq!(status.code(), Some(0), "a line of tests/c/limits.c");
}

#[test]
fn a_c_program_with_the_shared_library() {
    runs("c", &["-ltollgate_capi"]);
}

#[test]
fn a_c_program_with_the_static_library() {
    let library = built().join("libtollgate_capi.a");
    runs("c", &[&[library.to_str().unwrap()], &SYSTEM[..]].concat());
}

#[test]
fn the_header_is_one_for_cpp_too() {
    runs("c++", &["-ltollgate_capi"]);
}
