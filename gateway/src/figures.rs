//! What all of it comes to over time, for Prometheus.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tollgate::http::Verdict;
use tollgate::inflight::InFlight;
use tollgate::metrics::{Calls, Flights, HasReason, Meter, Meters, Places, Reason, SECONDS, Waits};
use tollgate::wait::{Queue, TokioTimer};

use crate::Fault;
use crate::failure::{Failure, Refused};
use crate::gateway::Gateway;

/// So long each time is kept by itself.
const UPKEEP: Duration = Duration::from_secs(5);

/// The meters of all limits, and what renders them.
pub(crate) struct Figures {
    told: PrometheusHandle,
    meters: Meters,
}

/// Admissions, refusals and waits at one limit.
pub(crate) struct Counted {
    pub(crate) meter: Meter,
    pub(crate) waits: Waits,
}

impl Figures {
    /// For the process: there is one recorder in it.
    pub(crate) fn install() -> Result<Self, Fault> {
        let times = Matcher::Suffix("_seconds".to_owned());
        let told = PrometheusBuilder::new().set_buckets_for_metric(times, &SECONDS)?.install_recorder()?;
        // After the recorder.
        Ok(Self { told, meters: Meters::new() })
    }

    pub(crate) fn upkeep(&self) -> impl Future<Output = ()> + Send + use<> {
        let told = self.told.clone();
        async move {
            let mut turns = tokio::time::interval(UPKEEP);
            loop {
                turns.tick().await;
                told.run_upkeep();
            }
        }
    }

    pub(crate) fn tenant(&self, name: &str, in_flight: &Arc<InFlight>) -> Counted {
        let (name, in_flight) = (label("tenant", name), Arc::clone(in_flight));
        self.meters.in_flight(name, move || Flights::from(&*in_flight));
        self.counted(name)
    }

    pub(crate) fn batch(&self, queue: &Queue<tollgate::Monotonic, TokioTimer>) -> Counted {
        let queue = queue.clone();
        self.meters.queue("batch", move || Places::from(&queue));
        self.counted("batch")
    }

    pub(crate) fn upstream(&self, name: &str) -> Calls {
        self.meters.calls(label("upstream", name))
    }

    fn counted(&self, name: &'static str) -> Counted {
        Counted { meter: self.meters.meter(name), waits: self.meters.waits(name) }
    }
}

/// Why a call was refused, out of a fixed set: the limit's own name would be one label more, and a key none
/// at all.
impl HasReason for Failure {
    fn reason(&self) -> Reason {
        match self {
            Self::Refused(refused) => refused.reason(),
            _ => Reason::Invalid,
        }
    }
}

impl HasReason for Refused {
    fn reason(&self) -> Reason {
        match self.verdict() {
            Verdict::Busy => Reason::InUse,
            Verdict::Never { .. } => Reason::Never,
            Verdict::Invalid => Reason::Invalid,
            Verdict::Ended(_) | Verdict::Closed => Reason::Closed,
            _ => Reason::NotYet,
        }
    }
}

/// `/metrics`.
pub(crate) async fn metrics(State(gateway): State<Arc<Gateway>>) -> String {
    gateway.figures.meters.publish();
    gateway.figures.told.render()
}

/// Labels live as long as the program; there are as many as names in the settings, which are read once.
fn label(kind: &str, name: &str) -> &'static str {
    Box::leak(format!("{kind} {name}").into_boxed_str())
}
