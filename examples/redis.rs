//! Limits that all machines share: a bucket, two limits as one, and work in flight.
//!
//!     cargo run --example redis --features redis -- redis://127.0.0.1/

use std::env;
use std::error::Error;
use std::time::Duration;

use redis::Client;
use tollgate::quota;
use tollgate::redis::{RedisAllOf, RedisBucket, RedisInFlight, Refused};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1/".to_owned());
    // It is made anew by itself when it breaks; what was under way then is told, and not sent again.
    let connection = Client::open(url.as_str())?
        .get_connection_manager()
        .await
        .map_err(|error| format!("{url}: {error}; install redis-server, or name a server"))?;

    // One bucket, for everybody who asks this server for this key.
    let logins = RedisBucket::new(connection.clone(), "example:{logins}", quota!("10/min"))?;
    let logins = logins.with_deadline(Duration::from_millis(50));
    logins.reset().await?;
    match logins.try_acquire_n(8).await {
        Ok(()) => println!("eight logins: {} are left", logins.peek().await?.available),
        Err(Refused::Denied(denied)) => println!("too many: {denied}"),
        Err(unknown) => println!("let them in, or not: that is yours to choose ({unknown})"),
    }
    if let Err(refused) = logins.try_acquire_n(8).await {
        println!("eight more: {refused}");
    }

    // Requests and tokens of one provider, all or none; the part in braces keeps them together in a cluster.
    let limits = [("example:{llm}:requests", quota!("60/min")), ("example:{llm}:tokens", quota!("90k/min"))];
    let limits = RedisAllOf::new(connection.clone(), limits)?;
    let call = limits.reserve([1, 8_000]).await?;
    call.settle([1, 1_200]).await?;
    if let Err(refused) = limits.try_acquire([1, 90_000]).await {
        println!("a whole minute's tokens: {refused}");
    }

    // At most four renders at once on all machines. What a machine held that died comes back within ten seconds.
    let renders = RedisInFlight::new(connection, "example:{renders}", 4, Duration::from_secs(10))?;
    let mut permit = renders.try_acquire_n(3).await?;
    if let Err(refused) = renders.try_acquire_n(2).await {
        println!("two more renders: {refused}");
    }
    let picture = permit.renew_during(async { "a picture" }).await?;
    println!("{picture} is done; the permit was still held: {}", permit.release().await?);
    Ok(())
}
