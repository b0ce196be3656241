//! The library's examples, each run to its end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with};
use crate::tools;

/// The one that asks a server.
const OF_A_SERVER: &str = "redis";

/// None of them takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// A Redis on a port of its own, gone with this.
struct Server {
    port: u16,
    process: Child,
}

pub(crate) fn run(_: &[String]) -> Outcome {
    tools::servers()?;
    // In the same way as the tests are built, and so with much of them.
    Run::cargo("build --quiet --workspace --all-features --examples").run()?;
    let names = names()?;
    for name in &names {
        let server = (name == OF_A_SERVER).then(Server::start).transpose()?;
        let program = Run::new(project::target().join("debug/examples").join(name)).limit(LIMIT);
        server.iter().fold(program, |program, server| program.arg(server.url())).run()?;
    }
    passed_with(format!("{} examples", names.len()))
}

fn names() -> Result<Vec<String>, String> {
    let folder = project::root().join("examples");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let programs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> =
        programs.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

impl Server {
    fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot start redis-server: {error}");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(failed)?.port();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]);
        let process = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        let mut server = Self { port, process };
        // Its own word: whoever answers at the port may be another program that was quicker.
        let said = server.process.stdout.take().map(BufReader::new);
        let mut lines = said.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        let is_ready = lines.any(|line| line.contains("Ready to accept connections"));
        is_ready.then_some(server).ok_or_else(|| format!("redis-server does not start on port {port}"))
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
