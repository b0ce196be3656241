//! Ways to a server that lose answers, break, or say nothing more.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// What becomes of answers to scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// They come through.
    Told,
    /// They do not; the connection stays.
    Lost,
    /// The connection is closed in place of them.
    Cut,
    /// The connection is closed in place of the next one, and then they come through.
    CutOnce,
}

/// A way to a server. Requests go through.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    fate: AtomicU32,
    scripts: AtomicU32,
}

impl Proxy {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Self { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let shared = proxy.shared.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, shared) = (client.unwrap(), shared.clone());
                thread::spawn(move || {
                    TcpStream::connect(server).map(|server| relay(client, server, &shared))
                });
            }
        });
        proxy
    }

    pub(crate) fn set(&self, fate: Fate) {
        self.shared.fate.store(fate as u32, Ordering::SeqCst);
    }

    /// How many scripts went to the server.
    pub(crate) fn scripts(&self) -> u32 {
        self.shared.scripts.load(Ordering::SeqCst)
    }
}

/// One request at a time, and its answer.
fn relay(mut client: TcpStream, mut server: TcpStream, shared: &Shared) {
    let (mut request, mut answer) = ([0; 65_536], [0; 65_536]);
    while let Ok(1..) = client.peek(&mut request) {
        let length = client.read(&mut request).unwrap_or(0);
        let runs_a_script = request[..length].windows(4).any(|word| word == b"EVAL");
        if runs_a_script {
            shared.scripts.fetch_add(1, Ordering::SeqCst);
        }
        if server.write_all(&request[..length]).is_err() {
            return;
        }
        let length = server.read(&mut answer).unwrap_or(0);
        let fate = if runs_a_script { shared.fate.load(Ordering::SeqCst) } else { Fate::Told as u32 };
        if fate == Fate::CutOnce as u32 {
            shared.fate.store(Fate::Told as u32, Ordering::SeqCst);
            return;
        }
        if fate == Fate::Cut as u32 {
            return;
        }
        if fate == Fate::Told as u32 && client.write_all(&answer[..length]).is_err() {
            return;
        }
    }
}

/// Answers what opens a connection, and then nothing more.
pub(crate) fn stalled(server: SocketAddr) -> SocketAddr {
    let proxy = Proxy::to(server);
    proxy.set(Fate::Lost);
    proxy.address
}
