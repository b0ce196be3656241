//! A server of the command's own: on a port that nobody uses, keeping nothing, gone with the command however
//! that ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Either will do, the first that is installed.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// How long it is given to start.
const START: Duration = Duration::from_secs(10);

/// What a server says of itself is a few thousand bytes.
const LONGEST_ANSWER: u64 = 65_536;

/// Between choosing a port and listening on it somebody else may take it.
const TRIES: u32 = 5;

/// Runs a program until it ends, or until nobody holds the other end of the input: what a killed command
/// leaves behind, the system closes. An interrupt is for the command to end by. It says the program's process
/// identifier.
const WATCH: &str = r#"
trap '' INT
exec 3<&0
"$@" </dev/null >/dev/null 3<&- & server=$!
echo $server
{ read -r _ <&3; kill $server; } & watch=$!
exec 3<&-
wait $server
kill $watch
"#;

/// See the [module](self).
pub(super) struct Own {
    process: Child,
    program: &'static str,
    port: u16,
}

impl Own {
    pub(super) fn start() -> Result<Self, Failure> {
        for program in PROGRAMS {
            match Self::of(program) {
                Ok(None) => {}
                Ok(Some(own)) => return Ok(own),
                Err(error) => return Err(unusable(&format!("{program}: {error}"))),
            }
        }
        Err(unusable(
            "there is no redis-server on this machine: install it (on Debian: apt-get install redis-server), or name \
             a server, as in --redis redis://127.0.0.1/",
        ))
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(super) fn name(&self) -> &'static str {
        self.program
    }

    /// `None` if that program is not installed.
    fn of(program: &'static str) -> io::Result<Option<Self>> {
        if !is_installed(program) {
            return Ok(None);
        }
        for _ in 0..TRIES {
            if let Some(own) = Self::at(program, free_port()?)? {
                return Ok(Some(own));
            }
        }
        Err(io::Error::other("it ends as soon as it is started"))
    }

    /// `None` if it ends, as it does when the port is another's.
    fn at(program: &'static str, port: u16) -> io::Result<Option<Self>> {
        let mut own = Self { process: spawn(program, port)?, program, port };
        let mut identifier = String::new();
        if let Some(says) = own.process.stdout.take() {
            BufReader::new(says).read_line(&mut identifier)?;
        }
        Ok(own.answers_as(identifier.trim_end())?.then_some(own))
    }

    /// False if it ended. Another that answers on its port is not it.
    fn answers_as(&mut self, identifier: &str) -> io::Result<bool> {
        let begin = Instant::now();
        while begin.elapsed() < START {
            if is_process(self.port, identifier).unwrap_or(false) {
                return Ok(true);
            }
            if self.process.try_wait()?.is_some() {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err(io::Error::other("it does not answer"))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn is_installed(program: &str) -> bool {
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// It hears nobody but this machine, and writes no file.
fn spawn(program: &str, port: u16) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", WATCH, "sh", program, "--bind", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--save", "", "--appendonly", "no"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// Whether what listens is the server with that process identifier.
fn is_process(port: u16, identifier: &str) -> io::Result<bool> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, START)?;
    stream.set_read_timeout(Some(START))?;
    stream.write_all(b"INFO server\r\nQUIT\r\n")?;
    let mut answer = String::new();
    stream.take(LONGEST_ANSWER).read_to_string(&mut answer)?;
    Ok(answer.lines().any(|line| line.strip_prefix("process_id:") == Some(identifier)))
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn unusable(why: &str) -> Failure {
    Failure::Input(format!("--redis: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_somebody_else_is_not_ones_own() {
        let somebodys = Own::start().unwrap();
        assert!(Own::at(somebodys.program, somebodys.port).unwrap().is_none());
    }
}
