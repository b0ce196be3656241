//! One call of the script.

use std::sync::LazyLock;

use core::time::Duration;

use redis::aio::ConnectionLike;
use redis::{ErrorKind, FromRedisValue, RedisError, ServerErrorKind, Value};

use super::error::StoreError;
use super::scale::Scale;

const SCRIPT: &str = include_str!("bucket.lua");

/// The script's name: the server computes the same from its text.
static HASH: LazyLock<String> = LazyLock::new(|| redis::Script::new(SCRIPT).get_hash().to_owned());

/// A connection, and how long to wait for an answer on it.
#[derive(Clone, Debug)]
pub(super) struct Store<C> {
    pub(super) connection: C,
    pub(super) deadline: Duration,
}

/// What the script is asked: a verb, the buckets that it is about, and numbers.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) verb: &'static str,
    pub(super) buckets: &'a [(&'a str, Scale)],
    pub(super) numbers: &'a [u64],
}

impl<C: ConnectionLike + Clone> Store<C> {
    pub(super) async fn ask<T: FromRedisValue>(&self, ask: Ask<'_>) -> Result<T, StoreError> {
        let late = || StoreError::Deadline { deadline: self.deadline };
        let answer = tokio::time::timeout(self.deadline, self.run(ask)).await.map_err(|_| late())?;
        T::from_redis_value(answer.map_err(StoreError::Failed)?).map_err(|_| StoreError::Answer)
    }

    /// By its name, or whole if the server does not know it.
    async fn run(&self, ask: Ask<'_>) -> Result<Value, RedisError> {
        match self.send(&ask.command("EVALSHA", &HASH)).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.send(&ask.command("EVAL", SCRIPT)).await
            }
            answer => answer,
        }
    }

    /// Once, whatever comes of it.
    async fn send(&self, command: &redis::Cmd) -> Result<Value, RedisError> {
        self.connection.clone().req_packed_command(command).await.and_then(Value::extract_error)
    }
}

impl Ask<'_> {
    fn command(self, name: &str, script: &str) -> redis::Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.buckets.len());
        for (key, _) in self.buckets {
            command.arg(key);
        }
        command.arg(self.verb);
        for (_, scale) in self.buckets {
            command.arg(scale.p).arg(scale.q).arg(scale.capacity);
        }
        for number in self.numbers {
            command.arg(number);
        }
        command
    }
}
