//! All that the gateway is made of, and the path of a request through it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use http::HeaderMap;
use tollgate::Monotonic;
use tollgate::budget::allowances::{Allowances, Config};
use tollgate::budget::tree::{Node, NodeId, Share, Tree};
use tollgate::inflight::InFlight;
use tollgate::wait::{Queue, TokioTimer};

use crate::ask::Ask;
use crate::estimates::Estimates;
use crate::failure::Failure;
use crate::figures::{Counted, Figures};
use crate::runs::Runs;
use crate::settings::Settings;
use crate::upstreams::Upstreams;
use crate::{Fault, admission, figures, status, stream};

/// A prompt may be long.
const LONGEST_BODY: usize = 16 << 20;

/// The gateway. It is shared by all connections.
pub struct Gateway {
    /// Scarce things by name, from their file.
    pub(crate) allowances: Allowances,
    /// Who is guaranteed what of all tokens.
    tree: Tree,
    pub(crate) tenants: Vec<Tenant>,
    /// Which tenant has which key.
    pub(crate) keys: HashMap<String, usize>,
    /// The line for batch work.
    pub(crate) batch: Queue<Monotonic, TokioTimer>,
    pub(crate) batch_counted: Counted,
    pub(crate) runs: Runs,
    pub(crate) estimates: Estimates,
    pub(crate) upstreams: Upstreams,
    pub(crate) patience: Duration,
    pub(crate) figures: Figures,
}

/// One tenant.
pub(crate) struct Tenant {
    pub(crate) name: String,
    node: NodeId,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) counts: Counts,
    pub(crate) counted: Counted,
}

/// What became of a tenant's calls.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) admitted: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Those whose answer nobody read to its end.
    pub(crate) cut: AtomicU64,
    pub(crate) tokens: AtomicU64,
}

impl Gateway {
    /// With these settings and allowances, and the upstreams at their addresses.
    ///
    /// # Errors
    ///
    /// What does not hold together.
    pub fn new(settings: &Settings, allowances: Config) -> Result<Self, Fault> {
        let tree = settings.tenant.iter().fold(Tree::builder(settings.tokens), |tree, (name, tenant)| {
            tree.node(name, Share::percent(tenant.share))
        });
        let tree = tree.build()?;
        let figures = Figures::install()?;
        let (mut tenants, mut keys) = (Vec::<Tenant>::new(), HashMap::new());
        for (name, tenant) in &settings.tenant {
            if let Some(other) = keys.insert(tenant.key.clone(), tenants.len()) {
                return Err(format!("{} and {name} have the same key", tenants[other].name).into());
            }
            let in_flight = Arc::new(InFlight::new(tenant.in_flight)?);
            tenants.push(Tenant {
                counted: figures.tenant(name, &in_flight),
                name: name.clone(),
                node: tree.node(name).ok_or("a tenant without a node")?.id(),
                in_flight,
                counts: Counts::default(),
            });
        }
        let longest_wait = Duration::from_millis(settings.batch.longest_wait_ms);
        let batch = Queue::new(tollgate::Bucket::new(settings.batch.calls), longest_wait, TokioTimer);
        Ok(Self {
            allowances: Allowances::new(allowances),
            tree,
            tenants,
            keys,
            batch_counted: figures.batch(&batch),
            batch,
            runs: Runs::new(settings.run),
            estimates: Estimates::new(),
            upstreams: Upstreams::new(&settings.upstream, &figures)?,
            patience: Duration::from_millis(settings.patience_ms),
            figures,
        })
    }

    /// What it serves.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/v1/chat/completions", post(chat))
            .route("/status.json", get(status::json))
            .route("/metrics", get(figures::metrics))
            .route("/", get(status::page))
            .layer(DefaultBodyLimit::max(LONGEST_BODY))
            .with_state(Arc::new(self))
    }

    /// Takes over what the times have come to, now and then, so that they do not pile up where nobody asks for
    /// `/metrics`. It does not end.
    pub fn upkeep(&self) -> impl Future<Output = ()> + Send + use<> {
        self.figures.upkeep()
    }

    /// What is guaranteed to a tenant, and what it has of it.
    pub(crate) fn node(&self, tenant: &Tenant) -> Node<'_> {
        // Its id is of this tree.
        self.tree.by_id(tenant.node).unwrap_or_else(|| self.tree.root())
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root()
    }

    /// The path of a request. Whatever is dropped on the way, by `?` or because the client has gone, gives
    /// back what it holds.
    async fn serve(self: &Arc<Self>, headers: &HeaderMap, body: &Bytes) -> Result<Response, Failure> {
        // Who asks, for what, until when, and at what cost.
        let ask = Ask::read(self, headers, body)?;
        // Batch work stands in line, so that it comes one after the other and in the order of its classes.
        admission::stand_in_line(self, &ask).await?;
        // The tenant's permit and guarantee, the allowances and the run: all of them or none.
        let mut admitted = admission::admit(self, &ask).await?;
        // An upstream that has room for it. Once it is sent it may have cost something, until that fails.
        let reply = self.upstreams.send(&ask, &mut admitted).await?;
        Ok(stream::answer(self, ask, admitted, reply))
    }
}

impl Counts {
    pub(crate) fn add(counter: &AtomicU64, number: u64) {
        // A number to look at: it orders nothing.
        counter.fetch_add(number, Ordering::Relaxed);
    }
}

async fn chat(State(gateway): State<Arc<Gateway>>, headers: HeaderMap, body: Bytes) -> Response {
    gateway.serve(&headers, &body).await.unwrap_or_else(Failure::into_response)
}
