//! A real server for a test, on a free port, gone with it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Client, Connection};

pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_at(free_port())
    }

    fn start_at(port: u16) -> Self {
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        let process = command.stdout(Stdio::null()).spawn();
        let server = Self { process: process.expect("redis-server is to be installed"), port };
        server.wait_until_it_answers();
        server
    }

    /// The same place, and nothing of what was there.
    pub(crate) fn restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        *self = Self::start_at(self.port);
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

    pub(crate) async fn connect(&self) -> MultiplexedConnection {
        self.client().get_multiplexed_async_connection().await.unwrap()
    }

    /// Sends the process a signal: `STOP` or `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let signalled =
            Command::new("kill").args([&format!("-{name}"), &self.process.id().to_string()]).status();
        assert!(signalled.unwrap().success());
    }

    fn wait_until_it_answers(&self) {
        let begin = Instant::now();
        while self.client().get_connection().is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "the server does not answer");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

pub(crate) fn client(address: SocketAddr) -> Client {
    Client::open(format!("redis://{address}/")).unwrap()
}

/// A way to a server on which answers to scripts are lost: requests go through, what comes back to one that runs a script does
/// not.
pub(crate) fn that_loses_answers(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            thread::spawn(move || relay(client, server));
        }
    });
    address
}

fn relay(mut client: TcpStream, mut server: TcpStream) {
    let (mut request, mut answer) = ([0; 65_536], [0; 65_536]);
    while let Ok(1..) = client.peek(&mut request) {
        let length = client.read(&mut request).unwrap_or(0);
        let runs_a_script = request[..length].windows(4).any(|word| word == b"EVAL");
        if server.write_all(&request[..length]).is_err() {
            return;
        }
        let length = server.read(&mut answer).unwrap_or(0);
        if !runs_a_script && client.write_all(&answer[..length]).is_err() {
            return;
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
