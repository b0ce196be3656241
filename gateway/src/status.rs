//! How everything stands: as JSON, and as a page that shows the JSON.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::{Html, IntoResponse};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::{Value, json};
use tollgate::budget::Spent;
use tollgate::budget::allowances::AllowanceLevel;
use tollgate::upstream::{Dimension, Standing};

use crate::gateway::{Gateway, Tenant};

/// As many runs are shown.
const RUNS: usize = 20;

pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("status.html"))
}

pub(crate) async fn json(State(gateway): State<Arc<Gateway>>) -> impl IntoResponse {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (headers, gateway.status().to_string())
}

impl Gateway {
    fn status(&self) -> Value {
        let root = self.root().peek();
        json!({
            "tokens": { "available": root.held(), "limit": root.burst(), "debt": root.owed(), "used": root.used() },
            "tenants": self.tenants.iter().map(|tenant| self.tenant(tenant)).collect::<Vec<_>>(),
            "allowances": self.allowances.levels().iter().map(allowance).collect::<Vec<_>>(),
            "upstreams": (0..self.upstreams.places.len()).map(|place| self.upstream(place)).collect::<Vec<_>>(),
            "batch": self.line(),
            "runs": self.latest_runs(),
        })
    }

    fn tenant(&self, tenant: &Tenant) -> Value {
        let (balance, counts) = (self.node(tenant).peek(), &tenant.counts);
        json!({
            "name": tenant.name,
            "held": balance.held(),
            "burst": balance.burst(),
            "debt": balance.owed(),
            "available": balance.available(),
            "borrowed": balance.borrowed(),
            "in_flight": tenant.in_flight.in_use(),
            "in_flight_limit": tenant.in_flight.limit(),
            "admitted": count(&counts.admitted),
            "refused": count(&counts.refused),
            "cut": count(&counts.cut),
            "tokens": count(&counts.tokens),
        })
    }

    fn upstream(&self, place: usize) -> Value {
        let (upstream, mirror) = (&self.upstreams.places[place], self.upstreams.router.mirror(place));
        let level = |of| mirror.and_then(|mirror| mirror.level(of));
        let level = |of| level(of).map_or((0, 0), |left| (left.available(), left.limit()));
        let (requests, tokens) = (level(Dimension::Requests), level(Dimension::Tokens));
        json!({
            "name": upstream.name,
            "url": upstream.url,
            "standing": self.upstreams.router.standing(place).map_or("", standing),
            "requests": requests.0,
            "requests_limit": requests.1,
            "tokens": tokens.0,
            "tokens_limit": tokens.1,
            "in_flight": mirror.map_or(0, |mirror| mirror.in_flight()),
            "answered": count(&upstream.answered),
            "refused": count(&upstream.refused),
        })
    }

    fn line(&self) -> Value {
        let outcomes = self.batch.outcomes();
        json!({
            "waiting": self.batch.len(),
            "depth": self.batch.depth(),
            "oldest_ms": u64::try_from(self.batch.age().unwrap_or(Duration::ZERO).as_millis()).unwrap_or(u64::MAX),
            "served": outcomes.admitted,
            "hopeless": outcomes.hopeless,
            "full": outcomes.full,
            "left": outcomes.cancelled,
        })
    }

    fn latest_runs(&self) -> Vec<Value> {
        let latest = self.runs.latest(RUNS);
        let shown = latest.into_iter().map(|(tenant, name, run)| {
            let (Spent { calls, tokens, .. }, left) = (run.spent(), run.left());
            json!({
                "tenant": self.tenants[tenant].name,
                "name": name,
                "calls": calls,
                "calls_left": left.calls,
                "tokens": tokens,
                "tokens_left": left.tokens,
                "ended": run.ended().map(|ended| ended.to_string()),
            })
        });
        shown.collect()
    }
}

fn allowance(level: &AllowanceLevel) -> Value {
    json!({
        "name": level.name(),
        "unit": level.unit().name(),
        "share_of": level.share_of(),
        "available": level.available(),
        "limit": level.limit(),
        "debt": level.debt(),
        "in_flight": level.in_flight(),
    })
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Open => "open",
        Standing::Closed(_) => "closed",
        Standing::Probing(_) => "probing",
        Standing::Ramping(_) => "ramping",
        _ => "unknown",
    }
}

fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
