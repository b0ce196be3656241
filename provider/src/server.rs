//! The server itself: sockets, paths and bodies.

use std::convert::Infallible;
use std::io::{self, Write, stdout};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::answer::answer;
use crate::chat::{self, Chat};
use crate::settings::Settings;
use crate::state::{Cost, State, Verdict, now};

type Body = Either<Full<Bytes>, Channel<Bytes>>;
type Shared = Arc<Mutex<State>>;

/// A longer body of a call is refused.
const LONGEST_BODY: usize = 16 << 20;

/// Serves on a free port of the loopback, which it prints on a line of its own, until the standard input ends
/// (so a parent that is gone takes it along) or its lifetime is over.
///
/// # Errors
///
/// That of a socket that cannot be opened or an output that cannot be written.
pub fn run(settings: Settings) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let lifetime = settings.lifetime;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        writeln!(stdout(), "{}", listener.local_addr()?.port())?;
        stdout().flush()?;
        let state = Arc::new(Mutex::new(State::new(settings)));
        tokio::select! {
            served = serve(listener, state) => served,
            _ = timeout(lifetime, end_of_input()) => Ok(()),
        }
    });
    // The thread that reads the standard input is not to be waited for.
    runtime.shutdown_background();
    served
}

async fn end_of_input() {
    let (mut input, mut ignored) = (tokio::io::stdin(), [0; 256]);
    while input.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
}

async fn serve(listener: TcpListener, state: Shared) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(connection(stream, Arc::clone(&state)));
    }
}

async fn connection(stream: TcpStream, state: Shared) {
    // Small answers at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| respond(request, Arc::clone(&state)));
    // A connection that fails is the client's to notice.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(request: Request<Incoming>, state: Shared) -> io::Result<Response<Body>> {
    let query = request.uri().query().unwrap_or_default();
    match request.uri().path() {
        "/_control" => Ok(control(&state, query, false)),
        "/_reset" => Ok(control(&state, query, true)),
        "/_stats" => Ok(whole(StatusCode::OK, lock(&state).stats(now()).to_string())),
        chat::PATH => chat(&state, request).await,
        _ => call(&state, cost(query), None).await,
    }
}

async fn chat(state: &Shared, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let body = Limited::new(request.into_body(), LONGEST_BODY).collect().await.map_err(io::Error::other)?;
    match Chat::read(&body.to_bytes()) {
        Some(chat) => call(state, chat.cost(), Some(chat)).await,
        None => {
            Ok(whole(StatusCode::BAD_REQUEST, r#"{"error":{"message":"no chat completion"}}"#.to_owned()))
        }
    }
}

fn control(state: &Shared, query: &str, anew: bool) -> Response<Body> {
    let mut state = lock(state);
    let mut settings = state.settings.clone();
    if let Err(fault) = settings.set_all(query) {
        return whole(StatusCode::BAD_REQUEST, fault);
    }
    if anew {
        *state = State::new(settings);
    } else {
        state.change(settings);
    }
    whole(StatusCode::OK, "{}".to_owned())
}

/// The balance is decided on and told at one moment; then the latency passes.
async fn call(state: &Shared, cost: Cost, chat: Option<Chat>) -> io::Result<Response<Body>> {
    let (verdict, answer, settings) = {
        let (mut state, now) = (lock(state), now());
        let verdict = state.decide(cost, now);
        (verdict, answer(&state, verdict, cost, now), state.settings.clone())
    };
    if verdict == Verdict::Stalled {
        std::future::pending::<Infallible>().await;
    }
    sleep(settings.latency).await;
    let (mut head, body) = answer.ok_or(io::ErrorKind::ConnectionReset)?;
    let body = match chat.filter(|_| verdict == Verdict::Admitted) {
        Some(chat) if chat.is_streamed => {
            if let Some(headers) = head.headers_mut() {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            }
            Either::Right(streamed(chat.events(settings.pieces), settings))
        }
        Some(chat) => Either::Left(Full::from(chat.whole())),
        None if settings.pieces > 0 => Either::Right(streamed(pieces(body, settings.pieces), settings)),
        None => Either::Left(Full::from(body)),
    };
    head.body(body).map_err(io::Error::other)
}

/// A body cut into so many pieces.
fn pieces(body: String, pieces: u32) -> Vec<Bytes> {
    let mut body = Bytes::from(body);
    (1..=pieces as usize).rev().map(|left| body.split_to(body.len().div_ceil(left))).collect()
}

/// A body that comes in pieces, each after a gap.
fn streamed(pieces: Vec<Bytes>, settings: Settings) -> Channel<Bytes> {
    let (sender, channel) = Channel::new(1);
    tokio::spawn(send(sender, pieces, settings));
    channel
}

async fn send(mut sender: Sender<Bytes>, pieces: Vec<Bytes>, settings: Settings) {
    for (piece, data) in (1..).zip(pieces) {
        sleep(settings.gap).await;
        if sender.send_data(data).await.is_err() {
            return;
        }
        if piece == settings.silent_after {
            // Longer than anyone listens; the sender lives on.
            sleep(Duration::from_secs(3600)).await;
        }
    }
}

fn cost(query: &str) -> Cost {
    let tokens = query.split('&').find_map(|pair| pair.strip_prefix("tokens="));
    Cost { tokens: tokens.and_then(|tokens| tokens.parse().ok()).unwrap_or(0) }
}

fn whole(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn lock(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
