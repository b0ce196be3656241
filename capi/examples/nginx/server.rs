//! nginx with the files of this folder.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};

/// The address in `nginx.conf`.
const ADDRESS: &str = "127.0.0.1:8080";
const CONFIG: &str = include_str!("nginx.conf");
const MODULES: [(&str, &str); 2] =
    [("limits.lua", include_str!("limits.lua")), ("tollgate.lua", include_str!("tollgate.lua"))];

pub(crate) struct Server {
    master: Child,
    address: SocketAddrV4,
}

impl Server {
    /// Starts nginx in `folder` with these keys; it serves when this returns.
    pub(crate) fn start(folder: &Path, limits: &Path, port: u16, keys: &str) -> io::Result<Self> {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        fs::create_dir_all(folder.join("temp"))?;
        fs::write(folder.join("nginx.conf"), CONFIG.replace(ADDRESS, &address.to_string()))?;
        fs::write(folder.join("keys.lua"), keys)?;
        MODULES.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))?;
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "stderr"]);
        nginx.env("TOLLGATE_LIBRARY", library()?).env("TOLLGATE_LIMITS", limits);
        if Uid::effective().is_root() {
            // They read a build folder, where others may not look.
            nginx.args(["-g", "user root;"]);
        }
        let master = nginx.spawn().map_err(|error| {
            io::Error::other(format!(
                "nginx does not start ({error}): `cargo xtask ci tools` installs it, with its Lua module"
            ))
        })?;
        let mut server = Self { master, address };
        server.wait_until_it_serves()?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// The processes that serve.
    pub(crate) fn workers(&self) -> io::Result<Vec<Pid>> {
        let master = self.master.id();
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
        let pids = children.split_whitespace().map(|pid| pid.parse().map(Pid::from_raw));
        pids.collect::<Result<_, _>>().map_err(io::Error::other)
    }

    fn wait_until_it_serves(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        // There are workers only once the address is nginx's.
        while TcpStream::connect(self.address).is_err() || self.workers()?.is_empty() {
            if let Some(status) = self.master.try_wait()? {
                return Err(io::Error::other(format!("nginx has ended: {status}")));
            }
            if begin.elapsed() > Duration::from_secs(30) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A master that is killed leaves its workers; one that is told to stop takes them with it.
        if let Ok(pid) = i32::try_from(self.master.id()) {
            let _ended_already = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let _status = self.master.wait();
    }
}

/// The library that was built with this program, which lies beside its dependencies.
fn library() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let place = |folder: &Path| folder.join("deps/libtollgate_capi.so");
    let found = own.ancestors().map(place).find(|path| path.exists());
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no libtollgate_capi.so"))
}
