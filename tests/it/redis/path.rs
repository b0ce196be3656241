//! A way to a server that can be blocked, and on which requests are counted.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use super::server::{Server, client};

/// Requests go through; or connections are closed; or they are kept, and nothing is ever answered.
const OPEN: u8 = 0;
const CUT: u8 = 1;
const SILENT: u8 = 2;

pub(crate) struct Path {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    state: AtomicU8,
    scripts: AtomicU64,
    /// Both ends of every connection.
    ends: Mutex<Vec<TcpStream>>,
}

impl Path {
    pub(crate) fn to(server: &Server) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (address, server) = (listener.local_addr().unwrap(), server.address());
        let shared = Arc::new(Shared {
            state: AtomicU8::new(OPEN),
            scripts: AtomicU64::new(0),
            ends: Mutex::new(Vec::new()),
        });
        let path = Self { address, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for client in listener.incoming() {
                let shared = Arc::clone(&shared);
                let client = client.unwrap();
                thread::spawn(move || shared.relay(client, server));
            }
        });
        path
    }

    pub(crate) fn open(&self) {
        self.turn(OPEN);
    }

    pub(crate) fn cut(&self) {
        self.turn(CUT);
    }

    pub(crate) fn silence(&self) {
        self.turn(SILENT);
    }

    /// Requests to run a script that were sent, whatever became of them.
    pub(crate) fn scripts(&self) -> u64 {
        self.shared.scripts.load(Ordering::SeqCst)
    }

    /// A connection that is made anew when it breaks, and does not try twice by itself.
    pub(crate) async fn connect(&self) -> ConnectionManager {
        let config = ConnectionManagerConfig::new().set_number_of_retries(0);
        let config = config.set_response_timeout(None).set_connection_timeout(Some(Duration::from_secs(20)));
        client(self.address).get_connection_manager_with_config(config).await.unwrap()
    }

    /// What was sent on a connection before is not mixed up with what comes after: it is closed.
    fn turn(&self, state: u8) {
        if self.shared.state.swap(state, Ordering::SeqCst) != state && state != SILENT {
            for end in self.shared.ends.lock().unwrap().drain(..) {
                end.shutdown(Shutdown::Both).ok();
            }
        }
    }
}

impl Shared {
    fn relay(&self, mut client: TcpStream, server: SocketAddr) {
        if self.state.load(Ordering::SeqCst) == CUT {
            return;
        }
        let mut server = TcpStream::connect(server).unwrap();
        let ends = [&client, &server].map(|end| end.try_clone().unwrap());
        self.ends.lock().unwrap().extend(ends);
        let (mut back, mut there) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut there, &mut back));
        let mut request = [0; 65_536];
        while let Ok(length @ 1..) = client.read(&mut request) {
            let scripts = request[..length].windows(4).filter(|word| *word == b"EVAL").count();
            self.scripts.fetch_add(scripts as u64, Ordering::SeqCst);
            if self.state.load(Ordering::SeqCst) == OPEN && server.write_all(&request[..length]).is_err() {
                return;
            }
        }
        server.shutdown(Shutdown::Both).ok();
    }
}
