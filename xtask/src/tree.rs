//! Copies of the tree, for what must not happen in the tree itself.

use std::fs;
use std::path::Path;

use crate::process::Run;
use crate::project;

/// Copies what git knows or would add. Every file is written anew, so cargo sees that a patched file was put
/// back.
pub(crate) fn fresh_copy(tree: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy the tree: {error}");
    if tree.exists() {
        fs::remove_dir_all(tree).map_err(failed)?;
    }
    let list = Run::new("git").words("ls-files --cached --others --exclude-standard").answer();
    for file in list.ok_or("git ls-files failed")?.lines() {
        let (from, to) = (project::root().join(file), tree.join(file));
        // A file that was deleted and not committed is still listed.
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(tree)).map_err(failed)?;
            fs::copy(from, to).map_err(failed)?;
        }
    }
    Ok(())
}
