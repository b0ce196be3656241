//! The server that `--redis` names, or one that the command starts for itself.

mod own;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Connection, RedisError};
use tokio::runtime::Runtime;

use self::own::Own;
use crate::failure::Failure;
use crate::place::Place;

/// How long a server is given to take a connection, and to answer on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A server that can be asked.
pub(crate) struct Store {
    client: Client,
    name: String,
    /// Ended with this.
    _own: Option<Own>,
}

impl Store {
    /// Starts one if none is named, and sees whether it answers.
    pub(crate) fn open(place: &Place) -> Result<Self, Failure> {
        match place {
            Place::Own => {
                let own = Own::start()?;
                let store = Self::at(&own.url())?;
                Ok(Self { name: own.name().to_owned(), _own: Some(own), ..store })
            }
            Place::At(url) => Self::at(url),
        }
    }

    fn at(url: &str) -> Result<Self, Failure> {
        let client = Client::open(url).map_err(|error| unusable(url, &error))?;
        let store = Self { client, name: url.to_owned(), _own: None };
        store.connection()?;
        Ok(store)
    }

    /// What the results call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Many calls at a time.
    pub(crate) fn shared_connection(&self, runtime: &Runtime) -> Result<MultiplexedConnection, Failure> {
        let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let connected = self.client.get_multiplexed_async_connection_with_config(&patient);
        runtime.block_on(connected).map_err(|error| self.failed(&error))
    }

    /// One call after another.
    pub(crate) fn connection(&self) -> Result<Connection, Failure> {
        let connect = || -> Result<Connection, RedisError> {
            let connection = self.client.get_connection_with_timeout(PATIENCE)?;
            connection.set_read_timeout(Some(PATIENCE))?;
            connection.set_write_timeout(Some(PATIENCE))?;
            Ok(connection)
        };
        connect().map_err(|error| unusable(&self.name, &error))
    }

    /// It stopped answering.
    pub(crate) fn failed(&self, error: &dyn fmt::Display) -> Failure {
        unusable(&self.name, error)
    }
}

/// A part of a key that no other command on the same server has, nor this one for another key.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{}-{now}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn unusable(name: &str, error: &dyn fmt::Display) -> Failure {
    Failure::Input(format!("--redis: {name}: {error}"))
}
