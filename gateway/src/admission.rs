//! What a call needs before it may go upstream: all of it, or none.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tollgate::budget::allowances::{Grants, NotAdmitted};
use tollgate::budget::{self, Planned};
use tollgate::inflight::OwnedPermit;
use tollgate::wait::Entry;

use crate::ask::Ask;
use crate::failure::{Failure, Refused};
use crate::gateway::{Counts, Gateway, Tenant};

/// Who waits looks again no sooner than this.
const LEAST_WAIT: Duration = Duration::from_millis(5);

/// All that a call holds while it is under way. It is closed when it is dropped, whatever the reason: with
/// what has been used, or, if it was never sent, with nothing.
pub(crate) struct Admitted {
    gateway: Arc<Gateway>,
    tenant: usize,
    /// What the tenant's node was charged.
    reserved: u64,
    /// What the call has used so far, if it was sent.
    used: Option<u64>,
    grants: Option<Grants>,
    run: Option<budget::Call>,
    _permit: OwnedPermit,
}

/// Batch work waits for its turn; other calls do not.
pub(crate) async fn stand_in_line(gateway: &Gateway, ask: &Ask) -> Result<(), Failure> {
    let Some(class) = ask.batch else { return Ok(()) };
    let left = ask.deadline.saturating_duration_since(Instant::now());
    let counted = &gateway.batch_counted;
    let turn = counted.waits.time(gateway.batch.acquire(Entry::new(1).class(class).within(left)));
    counted.meter.count(1, turn.await).map_err(|refused| gateway.refuse(ask, Refused::by("batch", refused)))
}

/// Admits the call now, or as soon as it fits before its deadline.
pub(crate) async fn admit(gateway: &Arc<Gateway>, ask: &Ask) -> Result<Admitted, Failure> {
    let counted = &gateway.tenants[ask.tenant].counted;
    let answer = counted.waits.time(when_it_fits(gateway, ask)).await;
    counted.meter.count(ask.guess.tokens(), answer)
}

/// Those who wait here are in no order, for it does not matter: each tenant's guarantee is its own, and who
/// borrows takes what the others leave. Nothing is held while waiting.
async fn when_it_fits(gateway: &Arc<Gateway>, ask: &Ask) -> Result<Admitted, Failure> {
    loop {
        let refused = match try_admit(gateway, ask) {
            Err(Failure::Refused(refused)) => refused,
            answer => return answer,
        };
        let wait = refused.wait().map(|wait| wait.max(LEAST_WAIT));
        match wait.filter(|wait| Instant::now() + *wait <= ask.deadline) {
            Some(wait) => sleep(wait).await,
            None => return Err(gateway.refuse(ask, refused)),
        }
    }
}

/// Whatever refuses, what was taken before it is given back: `admitted` is dropped, and was not sent.
fn try_admit(gateway: &Arc<Gateway>, ask: &Ask) -> Result<Admitted, Failure> {
    let (tenant, tokens) = (&gateway.tenants[ask.tenant], ask.guess.tokens());
    let permit = tenant.in_flight.try_acquire_owned();
    let permit = permit.map_err(|no| Refused::by(format!("{} in flight", tenant.name), no))?;
    let mut admitted = Admitted::new(gateway, ask.tenant, permit);
    admitted.grants = Some(grants(gateway, tenant, ask)?);
    if let Some(name) = &ask.run {
        let run = gateway.runs.of(ask.tenant, name);
        let call = run.call(Planned::new(&ask.model).tokens(tokens));
        admitted.run = Some(call.map_err(|no| Refused::by("run", no))?);
    }
    gateway.node(tenant).try_acquire_n(tokens).map_err(|no| Refused::by(tenant.name.as_str(), no.denied))?;
    admitted.reserved = tokens;
    Counts::add(&tenant.counts.admitted, 1);
    Ok(admitted)
}

fn grants(gateway: &Gateway, tenant: &Tenant, ask: &Ask) -> Result<Grants, Failure> {
    let call = gateway.allowances.call(&ask.model).by(&tenant.name).estimate(ask.guess.tokens());
    call.try_acquire().map_err(|no| match no {
        NotAdmitted::Refused { allowance, reason } => Refused::by(&*allowance, reason).into(),
        other => Failure::BadRequest(other.to_string()),
    })
}

impl Gateway {
    fn refuse(&self, ask: &Ask, refused: Refused) -> Failure {
        Counts::add(&self.tenants[ask.tenant].counts.refused, 1);
        refused.into()
    }
}

impl Admitted {
    fn new(gateway: &Arc<Gateway>, tenant: usize, permit: OwnedPermit) -> Self {
        let gateway = Arc::clone(gateway);
        Self { gateway, tenant, reserved: 0, used: None, grants: None, run: None, _permit: permit }
    }

    /// It is on its way, and costs at least so much if it arrives.
    pub(crate) fn is_sent(&mut self, at_least: u64) {
        self.used = Some(at_least);
    }

    /// So much has been used so far. What is above the reservation is charged at once, so that nobody else
    /// counts on it.
    pub(crate) fn observe(&mut self, used: u64) {
        self.used = Some(used);
        if let Some(grants) = &mut self.grants {
            grants.observe(used);
        }
        if used > self.reserved {
            let node = self.gateway.node(&self.gateway.tenants[self.tenant]);
            node.charge(used - self.reserved);
            self.reserved = used;
        }
    }

    /// It has ended, and has used so much.
    pub(crate) fn settle(mut self, used: u64) {
        self.observe(used);
    }

    /// It got no answer, and has used nothing until it is sent again.
    pub(crate) fn has_failed(&mut self) {
        self.used = None;
    }

    pub(crate) fn tenant(&self) -> &Tenant {
        &self.gateway.tenants[self.tenant]
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let (grants, run, used) = (self.grants.take(), self.run.take(), self.used.unwrap_or(0));
        self.gateway.node(self.tenant()).refund(self.reserved.saturating_sub(used));
        Counts::add(&self.tenant().counts.tokens, used);
        match self.used {
            Some(used) => {
                // What each allowance was given back shows on the page.
                let _settled = grants.map(|grants| grants.settle(used));
                run.into_iter().for_each(|run| run.settle(used, 0));
            }
            None => {
                grants.into_iter().for_each(Grants::release);
                run.into_iter().for_each(budget::Call::release);
            }
        }
    }
}
