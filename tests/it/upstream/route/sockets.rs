//! The same over real sockets. The clock is moved by hand, so nothing depends on how fast they are.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use http::{HeaderMap, StatusCode};
use tollgate::quota;
use tollgate::upstream::{Hops, Reader, Standing};

use super::support::{MS, ONE, SECOND, routers};

/// An HTTP server that answers every request with 200, or with 503 while it is ill. Dropped, it ends.
struct Server {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    is_ill: AtomicBool,
    is_over: AtomicBool,
    requests: AtomicUsize,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(State::default()));
        let served = Arc::clone(&state);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if served.is_over.load(Ordering::Acquire) {
                    break;
                }
                served.answer(stream.unwrap());
            }
        });
        Self { address, state, thread: Some(thread) }
    }

    fn requests(&self) -> usize {
        self.state.requests.load(Ordering::Acquire)
    }
}

impl State {
    fn answer(&self, mut stream: TcpStream) {
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let read = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).count();
        assert!(read >= 2, "a request and a field");
        self.requests.fetch_add(1, Ordering::AcqRel);
        let status = if self.is_ill.load(Ordering::Acquire) { "503 Unavailable" } else { "200 OK" };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Release);
        // It is waiting for a connection.
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

/// An address at which nobody can listen.
fn nowhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn send(address: SocketAddr) -> std::io::Result<StatusCode> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET / HTTP/1.1\r\nhost: upstream\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// One call through the upstreams: where it was served, and in how many hops.
fn call<C: tollgate::Clock>(mut hops: Hops<C>, addresses: &[SocketAddr; 2]) -> (usize, usize) {
    loop {
        let hop = hops.try_next().unwrap();
        let upstream = hop.upstream();
        match send(addresses[upstream]) {
            Err(_) => hop.unreachable(),
            Ok(status) => {
                hop.answered(&Reader::new().read(status, &HeaderMap::new(), SystemTime::UNIX_EPOCH));
                if status.is_success() {
                    return (upstream, hops.tried().len());
                }
            }
        }
    }
}

/// Ten seconds with a call each 10 ms: the first upstream is down, then comes back.
#[test]
fn one_of_two_is_down_and_comes_back() {
    let (first, second) = (Server::start(), Server::start());
    for is_unreachable in [true, false] {
        let (clock, builder) = routers(&[quota!("1000/s"); 2]);
        let router = builder.ramp(2 * SECOND).build().unwrap();
        first.state.is_ill.store(true, Ordering::Release);
        let down = if is_unreachable { nowhere() } else { first.address };
        let (before, mut served) = (first.requests(), Vec::new());
        for _ in 0..250 {
            served.push(call(router.hops(&ONE), &[down, second.address]));
            clock.advance(10 * MS);
        }
        assert!(served.iter().all(|(upstream, _)| *upstream == 1));
        let moved = served.iter().filter(|(_, hops)| *hops == 2).count();
        assert_eq!(moved, 5 + 1, "the failures that closed it, and a probe after a second");
        assert!(is_unreachable || first.requests() == before + moved);

        first.state.is_ill.store(false, Ordering::Release);
        let back: Vec<_> = (0..750)
            .map(|_| {
                clock.advance(10 * MS);
                call(router.hops(&ONE), &[first.address, second.address])
            })
            .collect();
        assert!(back.iter().all(|(_, hops)| *hops == 1));
        // The probe is after two seconds more, then the ramp; none, half and all of the calls.
        let to_first = |calls: &[(usize, usize)]| calls.iter().filter(|(upstream, _)| *upstream == 0).count();
        let probe = back.iter().position(|(upstream, _)| *upstream == 0).unwrap();
        let ramp = to_first(&back[probe + 1..probe + 201]);
        assert!(ramp.abs_diff(100) <= 2, "half of them within the ramp: {ramp}");
        assert_eq!(to_first(&back[probe + 202..]), back[probe + 202..].len());
        assert_eq!(router.standing(0), Some(Standing::Open));
    }
}
