//! A C program, compiled with warnings denied against the header, and linked with the library in both of its forms.

use std::path::Path;
use std::process::{Command, Output};

use super::{built, folder};

/// What a static library of Rust needs of the system.
const SYSTEM: [&str; 4] = ["-lpthread", "-lm", "-ldl", "-lgcc_s"];

fn compiled(how: &[&str], into: &Path, library: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args(how).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    compiler.arg(folder().join("include")).arg(folder().join("tests/c/limits.c"));
    compiler.args(["-x", "none", "-o"]).arg(into).arg("-L").arg(built()).args(library);
    let Output { status, stderr, .. } = compiler.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}

fn runs(how: &[&str], library: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("limits");
    compiled(how, &program, library);
    let mut run = Command::new(&program);
    let status = run.arg(place.path().join("file")).env("LD_LIBRARY_PATH", built()).status().unwrap();
    assert_eq!(status.code(), Some(0), "a line of tests/c/limits.c");
}

#[test]
fn a_c_program_with_the_shared_library() {
    runs(&["-x", "c"], &["-ltollgate_capi"]);
}

#[test]
fn a_c_program_with_the_static_library() {
    let library = built().join("libtollgate_capi.a");
    runs(&["-x", "c"], &[&[library.to_str().unwrap()], &SYSTEM[..]].concat());
}

#[test]
fn the_header_is_one_for_cpp_too() {
    runs(&["-x", "c++"], &["-ltollgate_capi"]);
}

/// Nothing is left, freed twice or used after it was freed.
#[test]
fn all_that_is_made_is_freed_once() {
    runs(&["-x", "c", "-g", "-fsanitize=address"], &["-ltollgate_capi"]);
}
