//! Local providers, each a process of its own that enforces its limits and tells them in its answers.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::Fault;
use crate::settings::Upstream;

/// The argument with which this program is a provider.
pub const ARGUMENT: &str = "provider";
/// A day: it ends before, with the gateway that holds its standard input.
const LIFETIME: &str = "lifetime_s=86400";

/// A running provider. It ends with this.
#[derive(Debug)]
pub struct Provider(Child);

impl Provider {
    /// Starts one for each upstream that has no address, which it then has.
    ///
    /// # Errors
    ///
    /// That of a process that cannot be started.
    pub fn start(upstreams: &mut [Upstream]) -> Result<Vec<Self>, Fault> {
        let without = upstreams.iter_mut().filter(|upstream| upstream.url.is_none());
        without.map(Self::of).collect()
    }

    fn of(upstream: &mut Upstream) -> Result<Self, Fault> {
        let mut process = Command::new(env::current_exe()?)
            .args([ARGUMENT, LIFETIME, &upstream.provider])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        let output = process.stdout.take().ok_or("a provider without output")?;
        let provider = Self(process);
        BufReader::new(output).read_line(&mut port)?;
        let port: u16 = port.trim().parse().map_err(|_| format!("{} did not start", upstream.name))?;
        upstream.url = Some(format!("http://127.0.0.1:{port}"));
        Ok(provider)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the program does when it is a provider.
pub fn serve(settings: impl Iterator<Item = String>) -> ExitCode {
    let mut told = tollgate_provider::Settings::default();
    let served = settings.into_iter().try_for_each(|pairs| told.set_all(&pairs));
    match served.and_then(|()| tollgate_provider::run(told).map_err(|error| error.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("provider: {error}");
            ExitCode::FAILURE
        }
    }
}
