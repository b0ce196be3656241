//! A client of HTTP/1.1 over one connection that is kept.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

pub(super) struct Client {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<u64>,
    pub(super) body: String,
}

impl Client {
    pub(super) fn connect(address: SocketAddrV4) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// A request with a body of so many bytes.
    pub(super) fn post(&mut self, key: &str, bytes: usize) -> io::Result<Answer> {
        let head = format!("{}Content-Length: {bytes}\r\n\r\n", head(key));
        self.send(&[head.into_bytes(), vec![b'x'; bytes]].concat())
    }

    /// A request whose body comes in chunks of so many bytes.
    pub(super) fn post_in_chunks(&mut self, key: &str, chunks: &[usize]) -> io::Result<Answer> {
        let mut request = format!("{}Transfer-Encoding: chunked\r\n\r\n", head(key));
        for bytes in chunks {
            request += &format!("{bytes:x}\r\n{}\r\n", "x".repeat(*bytes));
        }
        self.send((request + "0\r\n\r\n").as_bytes())
    }

    fn send(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.stream.get_mut().write_all(request)?;
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut answer =
            Answer { status: status.ok_or_else(broken)?, retry_after: None, body: String::new() };
        let mut bytes = 0;
        while let Some((name, value)) = self.line()?.split_once(": ") {
            match name.to_ascii_lowercase().as_str() {
                "content-length" => bytes = value.parse().map_err(|_| broken())?,
                "retry-after" => answer.retry_after = Some(value.parse().map_err(|_| broken())?),
                _ => {}
            }
        }
        self.stream.by_ref().take(bytes).read_to_string(&mut answer.body)?;
        if answer.body.len() as u64 == bytes { Ok(answer) } else { Err(broken()) }
    }

    /// A line without its end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(broken)
    }
}

fn head(key: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n")
}

/// The connection ended in the middle.
fn broken() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
