//! An open file of one process. Locks are by the open file, which a forked child has in common with its parent: it would have
//! its parent's locks, and give them up for it. So it opens the file anew before it takes one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process;

#[derive(Debug)]
pub(super) struct OwnFile {
    file: File,
    process: u32,
}

impl OwnFile {
    pub(super) fn new(file: File) -> Self {
        Self { file, process: process::id() }
    }

    /// Another opening of the same file, also if it was removed.
    pub(super) fn again(file: &File) -> io::Result<File> {
        File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    /// The file, as this process has it alone.
    pub(super) fn here(&mut self) -> io::Result<&File> {
        if self.process != process::id() {
            *self = Self::new(Self::again(&self.file)?);
        }
        Ok(&self.file)
    }
}
