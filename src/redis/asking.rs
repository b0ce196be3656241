//! How a bucket is asked under an outage rule: what the share has admitted is told first, and the circuit
//! hears what came of it.

use redis::aio::ConnectionLike;
use tokio::time::timeout;

use super::bucket::RedisBucket;
use super::error::{Refused, StoreError};
use super::outage::Fallback;

/// Asks the store for `cost` tokens, if the circuit lets it be asked.
pub(super) async fn try_acquire_n<C: ConnectionLike + Clone>(
    bucket: &RedisBucket<C>,
    fallback: &Fallback,
    cost: u64,
) -> Result<(), Refused> {
    let call = fallback.ask()?;
    let answer = make_up_and_take(bucket, fallback, cost).await;
    call.ended(!matches!(answer, Err(Refused::Store(_))));
    answer
}

/// Tells the store what the share has admitted.
pub(super) async fn make_up<C: ConnectionLike + Clone>(
    bucket: &RedisBucket<C>,
    fallback: &Fallback,
) -> Result<(), StoreError> {
    if let Some(owed) = fallback.owed() {
        bucket.owe(owed.cost(), owed.whole()).await?;
        owed.charged();
    }
    Ok(())
}

/// Both within the deadline of one call.
async fn make_up_and_take<C: ConnectionLike + Clone>(
    bucket: &RedisBucket<C>,
    fallback: &Fallback,
    cost: u64,
) -> Result<(), Refused> {
    let deadline = bucket.deadline();
    let both = async {
        make_up(bucket, fallback).await?;
        bucket.try_acquire_n(cost).await
    };
    timeout(deadline, both).await.unwrap_or(Err(StoreError::Deadline { deadline }.into()))
}
