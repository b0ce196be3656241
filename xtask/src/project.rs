//! Where things are.

use std::env;
use std::path::PathBuf;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let own = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| own.clone(), PathBuf::from)
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |own| root().join(own))
}

/// A target folder of its own for builds with other compiler flags, so that they do not undo each other's
/// work.
pub(crate) fn target_of(flags: &str) -> PathBuf {
    target().join(flags)
}

/// Where the tools are that the project installs for itself.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// Whether this runs unattended.
pub(crate) fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}
