//! For the tests that need traces.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder with one trace in it.
pub(crate) struct Trace {
    pub(crate) folder: TempDir,
    file: PathBuf,
}

impl Trace {
    pub(crate) fn new(name: &str, text: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        Self { folder, file }
    }

    pub(crate) fn path(&self) -> &str {
        self.file.to_str().unwrap()
    }
}

/// One of the real traces that may stand beside the repository.
pub(crate) fn real(name: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    if !file.exists() {
        eprintln!("SKIP {name}: ../shared/data is not there");
        return None;
    }
    Some(file)
}
