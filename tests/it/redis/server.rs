//! Real servers for a test, on free ports, gone with it.

use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, Connection};
use tempfile::TempDir;

/// Long enough for a server on a busy machine.
const START: Duration = Duration::from_secs(20);

/// Stands in options for a port that is free when the server starts.
pub(crate) const FREE: &str = "FREE";

pub(crate) struct Server {
    process: Child,
    program: PathBuf,
    port: u16,
    options: Vec<String>,
    /// Where it keeps what it keeps.
    folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Redis, and Valkey where it is installed: `cargo xtask ci tools` does so where it can be.
    pub(crate) fn each() -> impl Iterator<Item = Self> {
        Self::each_with(&[])
    }

    pub(crate) fn each_with(options: &[&str]) -> impl Iterator<Item = Self> {
        let valkey = valkey();
        if valkey.is_none() {
            eprintln!("SKIP: valkey-server is not installed, so this is tested with Redis only");
        }
        let programs = [Some(PathBuf::from("redis-server")), valkey];
        programs.into_iter().flatten().map(|program| Self::of(program, options))
    }

    /// With options beside the usual ones, such as `["--appendonly", "yes"]`.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        Self::of("redis-server".into(), options)
    }

    fn of(program: PathBuf, options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        // Between choosing a port and listening on it somebody else may take it.
        (0..5).find_map(|_| Self::at(free_port(), &program, &options)).expect("no server could be started")
    }

    /// A sentinel by that file, which it rewrites.
    pub(crate) fn sentinel(folder: TempDir, config: &Path) -> Self {
        let port = free_port();
        let mut command = Command::new("redis-server");
        command.arg(config).args(["--sentinel", "--port", &port.to_string()]).stdout(Stdio::null());
        let process = command.spawn().expect("redis-server is to be installed");
        let mut server = Self { process, program: "redis-server".into(), port, options: Vec::new(), folder };
        assert!(server.answers(), "the sentinel does not start");
        server
    }

    fn at(port: u16, program: &Path, options: &[String]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let process = run(program, port, folder.path(), options);
        let mut server =
            Self { process, program: program.to_owned(), port, options: options.to_vec(), folder };
        server.answers().then_some(server)
    }

    /// The same place, and nothing of what was there, unless it was told to keep it.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.process = run(&self.program, self.port, self.folder.path(), &self.options);
        assert!(self.answers(), "the server does not answer");
    }

    /// At once, as if the machine was gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub(crate) fn client(&self) -> Client {
        client(self.address())
    }

    /// For the test to look past the library.
    pub(crate) fn connection(&self) -> Connection {
        self.client().get_connection().unwrap()
    }

    /// A command by itself, such as `"CONFIG SET maxmemory 1"`.
    pub(crate) fn command<T: redis::FromRedisValue>(&self, words: &str) -> T {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        words.for_each(|word| {
            command.arg(word);
        });
        command.query(&mut self.connection()).unwrap()
    }

    /// One that is made anew when it breaks.
    pub(crate) async fn manager(&self) -> ConnectionManager {
        let patient = ConnectionManagerConfig::new().set_response_timeout(None);
        self.client().get_connection_manager_with_config(patient).await.unwrap()
    }

    pub(crate) async fn connect(&self) -> MultiplexedConnection {
        // By itself it gives up after half a second, whatever the deadline of a call.
        let patient =
            AsyncConnectionConfig::new().set_connection_timeout(Some(START)).set_response_timeout(None);
        self.client().get_multiplexed_async_connection_with_config(&patient).await.unwrap()
    }

    /// Sends the process a signal: `STOP` or `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let signalled =
            Command::new("kill").args([&format!("-{name}"), &self.process.id().to_string()]).status();
        assert!(signalled.unwrap().success());
    }

    /// Waits until it does, and not another one in its place; false if it ended, as it does when the port is
    /// another's.
    fn answers(&mut self) -> bool {
        let (begin, own) = (Instant::now(), format!("process_id:{}\r", self.process.id()));
        while self.process.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < START, "the server does not answer");
            if let Ok(mut connection) = self.client().get_connection() {
                let told: redis::RedisResult<String> =
                    redis::cmd("INFO").arg("server").query(&mut connection);
                if told.is_ok_and(|told| told.contains(&own)) {
                    return true;
                }
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn client(address: SocketAddr) -> Client {
    Client::open(format!("redis://{address}/")).unwrap()
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < START, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn run(program: &Path, port: u16, folder: &Path, options: &[String]) -> Child {
    let options = options.iter().map(|option| option.replace(FREE, &free_port().to_string()));
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()]);
    let process = command.arg("--dir").arg(folder).args(options).stdout(Stdio::null()).spawn();
    process.unwrap_or_else(|error| panic!("{} is to be installed: {error}", program.display()))
}

/// On the path, or where `cargo xtask` puts it: beside this program's target folder.
fn valkey() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let own = env::current_exe().unwrap();
    let tools = own.ancestors().map(|folder| folder.join("tools/venv/bin"));
    env::split_paths(&path)
        .chain(tools)
        .map(|folder| folder.join("valkey-server"))
        .find(|file| file.is_file())
}
