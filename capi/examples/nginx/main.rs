//! Starts nginx with limits on tokens per API key: `cargo run -p tollgate-capi --example nginx`. The README beside this file
//! says more.

mod server;

use std::fs;
use std::io;
use std::path::Path;

use nix::unistd::Pid;

use server::Server;

const PORT: u16 = 8080;
const LIMITS: &str = "/dev/shm/tollgate-nginx-example";

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/nginx-example");
    let server = Server::start(&folder, Path::new(LIMITS), PORT, include_str!("keys.lua"))?;
    let address = server.address();
    let workers = server.workers()?.iter().map(Pid::to_string).collect::<Vec<_>>().join(" and ");
    println!("nginx serves at {address} with the workers {workers}; kill them if you like.");
    println!("\nA request of 4000 bytes costs 1000 tokens; the sixth of these is refused:\n");
    println!(
        "    head -c 4000 /dev/zero | curl -i -H 'Authorization: Bearer key-of-acme' --data-binary @- http://{address}/\n"
    );
    println!("Enter ends it.");
    io::stdin().read_line(&mut String::new())?;
    drop(server);
    fs::remove_file(LIMITS)
}
