//! A file, for locks. Locks are by the open file (flock(2), fcntl(2)), which a forked child has in common
//! with its parent: it would have its parent's locks, give them up for it, and keep them when its parent is
//! killed. So each lock is taken on an opening of its own. A child has that in common too if it is forked
//! while the lock is held, but no other has.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process;

use crate::sync::Mutex;

#[derive(Debug)]
pub(super) struct OwnFile {
    file: File,
    /// Whose opening that is; its children have it in common.
    process: u32,
    /// Threads have it in common too, where it is used, so they need a lock of their own.
    turn: Mutex<()>,
}

impl OwnFile {
    pub(super) fn new(file: File) -> Self {
        Self { file, process: process::id(), turn: Mutex::new(()) }
    }

    /// Does it with an opening that no other process and no other thread has.
    ///
    /// Where the file must not be opened again, as by a process that has given up its rights, that is the
    /// first opening, for which threads wait with `turn`; and a forked child has none.
    pub(super) fn alone<'a, T, Turn>(
        &'a self,
        turn: impl FnOnce(&'a Mutex<()>) -> Option<Turn>,
        act: impl FnOnce(&File) -> T,
    ) -> io::Result<T> {
        match Self::again(&self.file) {
            Ok(own) => Ok(act(&own)),
            Err(_) if self.process == process::id() => {
                let _turn = turn(&self.turn).ok_or(io::ErrorKind::WouldBlock)?;
                Ok(act(&self.file))
            }
            Err(error) => Err(error),
        }
    }

    /// Another opening of the same file, also if it was removed.
    pub(super) fn again(file: &File) -> io::Result<File> {
        File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::sync::try_lock;

    /// Nothing opens a socket again.
    fn opened_once() -> OwnFile {
        OwnFile::new(OwnedFd::from(UnixStream::pair().unwrap().0).into())
    }

    #[test]
    fn where_it_cannot_be_opened_again_threads_take_turns_at_the_first_opening() {
        let file = opened_once();
        let fd = |file: &File| file.as_raw_fd();
        assert_eq!(file.alone(try_lock, fd).unwrap(), file.file.as_raw_fd());
        let _other = try_lock(&file.turn);
        assert_eq!(file.alone(try_lock, fd).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn where_it_cannot_be_opened_again_a_child_has_no_locks() {
        let parents = OwnFile { process: 0, ..opened_once() };
        assert!(parents.alone(try_lock, |_| ()).is_err());
    }
}
