//! What the figures were taken on.

use serde_json::{Value, json};
use std::fs;

/// The machine as far as the system tells it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The processor's name, family and model.
    pub cpu: String,
    /// Cores this process may use.
    pub cores: usize,
    /// The kernel's version.
    pub kernel: String,
    /// What the kernel itself tells the time by; the time-stamp counter is trusted only if this says `tsc`.
    pub clocksource: String,
    /// What the bucket's default clock reads.
    pub source: String,
}

impl Machine {
    /// Looks at this machine.
    pub fn here() -> Self {
        Self {
            cpu: cpu(),
            cores: crate::thread::cores(),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            clocksource: first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            source: format!("{:?}", tollgate::Monotonic::new().source()),
        }
    }

    /// Whether the bucket's default clock is the time-stamp counter; the bars of the ratios hold only there.
    pub fn reads_tsc(&self) -> bool {
        self.source == format!("{:?}", tollgate::Source::Tsc)
    }

    /// For `--json`.
    pub fn to_json(&self) -> Value {
        json!({
            "cpu": self.cpu, "cores": self.cores, "kernel": self.kernel,
            "clocksource": self.clocksource, "source": self.source,
        })
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cpu, cores, kernel, clocksource, source } = self;
        write!(
            f,
            "{cpu}, {cores} cores, kernel {kernel}, clocksource {clocksource}, Monotonic reads {source}"
        )
    }
}

fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("?").trim().to_owned()
    };
    format!("{} (family {}, model {})", field("model name"), field("cpu family"), field("model"))
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "?".to_owned(), |text| text.trim().to_owned())
}
