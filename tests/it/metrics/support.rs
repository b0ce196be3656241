//! A recorder of Prometheus, and what it would be asked for.

use std::collections::BTreeSet;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};
use tollgate::metrics::{Meters, SECONDS};

pub(crate) struct Recorded {
    recorder: PrometheusRecorder,
    pub(crate) meters: Meters,
}

/// A timer that never rings.
#[cfg(feature = "wait")]
pub(crate) struct Never;

impl Recorded {
    pub(crate) fn new() -> Self {
        let suffix = Matcher::Suffix("_seconds".to_string());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(suffix, &SECONDS).unwrap();
        let recorder = builder.build_recorder();
        let meters = metrics::with_local_recorder(&recorder, Meters::new);
        Self { recorder, meters }
    }

    /// Takes something from the meters while the recorder is there.
    pub(crate) fn take<T>(&self, take: impl FnOnce(&Meters) -> T) -> T {
        metrics::with_local_recorder(&self.recorder, || take(&self.meters))
    }

    /// What is read at `/metrics`.
    pub(crate) fn text(&self) -> String {
        self.meters.publish();
        self.recorder.handle().render()
    }

    /// The value of one series, written as it is shown.
    pub(crate) fn value(&self, series: &str) -> f64 {
        let text = self.text();
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no `{series}` in\n{text}")).parse().unwrap()
    }

    /// The values of several series of one limit, by the names of their metrics without the crate's.
    pub(crate) fn values<const N: usize>(&self, limit: &str, names: [&str; N]) -> [f64; N] {
        names.map(|name| self.value(&format!("tollgate_{name}{{limit=\"{limit}\"}}")))
    }

    pub(crate) fn series(&self) -> BTreeSet<String> {
        let text = self.text();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(|line| line.rsplit_once(' ').unwrap().0.to_string()).collect()
    }
}

pub(crate) fn refused(limit: &str, reason: &str) -> String {
    format!("tollgate_refused_total{{limit=\"{limit}\",reason=\"{reason}\"}}")
}

#[cfg(feature = "wait")]
impl tollgate::wait::Timer for Never {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, _: std::time::Duration) -> Self::Sleep {
        std::future::pending()
    }
}
