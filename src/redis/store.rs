//! One call of a script.

use core::time::Duration;
use std::sync::LazyLock;

use redis::aio::ConnectionLike;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind, Value};
use tokio::time::{sleep, timeout};

use super::error::StoreError;
use super::scale::Scale;

const BUCKET_TEXT: &str = include_str!("bucket.lua");
const IN_FLIGHT_TEXT: &str = include_str!("in_flight/in_flight.lua");

/// That of buckets.
static BUCKET: Script = Script { text: BUCKET_TEXT, hash: LazyLock::new(|| hash(BUCKET_TEXT)) };

/// That of permits.
static IN_FLIGHT: Script = Script { text: IN_FLIGHT_TEXT, hash: LazyLock::new(|| hash(IN_FLIGHT_TEXT)) };

/// How long a server is given to answer, unless something else is said.
pub(super) const DEADLINE: Duration = Duration::from_millis(100);

/// What a cluster's connection is given to learn where a key has gone: twice as long each time. One that is
/// none never learns.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(16);

/// A connection, and how long to wait for an answer on it.
#[derive(Clone, Debug)]
pub(super) struct Store<C> {
    pub(super) connection: C,
    pub(super) deadline: Duration,
}

/// What the script of buckets is asked: a verb, the buckets that it is about, and numbers.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) verb: &'static str,
    pub(super) buckets: &'a [(&'a str, Scale)],
    pub(super) numbers: &'a [u64],
}

/// What the script of permits is asked: a verb, the key, the permit's name, and numbers.
#[derive(Clone, Copy)]
pub(super) struct AskPermit<'a> {
    pub(super) verb: &'static str,
    pub(super) key: &'a str,
    pub(super) name: &'a str,
    pub(super) numbers: &'a [u64],
}

struct Script {
    text: &'static str,
    /// The script's name: the server computes the same from its text.
    hash: LazyLock<String>,
}

impl<C: ConnectionLike + Clone> Store<C> {
    pub(super) async fn ask<T: FromRedisValue>(&self, ask: Ask<'_>) -> Result<T, StoreError> {
        self.call(&BUCKET, |command| ask.write(command)).await
    }

    pub(super) async fn ask_permit<T: FromRedisValue>(&self, ask: AskPermit<'_>) -> Result<T, StoreError> {
        self.call(&IN_FLIGHT, |command| ask.write(command)).await
    }

    async fn call<T: FromRedisValue>(
        &self,
        script: &Script,
        arguments: impl Fn(&mut Cmd),
    ) -> Result<T, StoreError> {
        let late = || StoreError::Deadline { deadline: self.deadline };
        let run = self.run(script, arguments);
        let answer = timeout(self.deadline, run).await.map_err(|_| late())?;
        T::from_redis_value(answer.map_err(StoreError::Failed)?).map_err(|_| StoreError::Answer)
    }

    /// By its name, or whole if the server does not know it: then nothing has run.
    async fn run(&self, script: &Script, arguments: impl Fn(&mut Cmd)) -> Result<Value, RedisError> {
        let command = |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            arguments(command.arg(script));
            command
        };
        match self.find(&command("EVALSHA", &script.hash)).await {
            Err(error) if is(&error, ServerErrorKind::NoScript) => {
                self.find(&command("EVAL", script.text)).await
            }
            answer => answer,
        }
    }

    /// Again while the key is on another node, where nothing has run either: a cluster's connection then
    /// looks where.
    async fn find(&self, command: &Cmd) -> Result<Value, RedisError> {
        let mut pause = FIRST_LOOK;
        loop {
            match self.send(command).await {
                Err(error) if is(&error, ServerErrorKind::Moved) && pause <= LAST_LOOK => {
                    sleep(pause).await;
                    pause *= 2;
                }
                answer => return answer,
            }
        }
    }

    /// Once, whatever comes of it.
    async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        self.connection.clone().req_packed_command(command).await.and_then(Value::extract_error)
    }
}

impl Ask<'_> {
    fn write(self, command: &mut Cmd) {
        command.arg(self.buckets.len());
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
    }
}

impl AskPermit<'_> {
    fn write(self, command: &mut Cmd) {
        command.arg(1).arg(self.key).arg(self.verb).arg(self.name);
        for number in self.numbers {
            command.arg(number);
        }
    }
}

fn is(error: &RedisError, kind: ServerErrorKind) -> bool {
    error.kind() == ErrorKind::Server(kind)
}

fn hash(text: &str) -> String {
    redis::Script::new(text).get_hash().to_owned()
}
