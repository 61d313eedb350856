//! The server: the page, its socket, and scenes that are dropped on it.

use super::guard::Guard;
use super::orders::{Order, Watch};
use super::page;
use super::session::{Client, Envelope, Message, Published};
use crate::args::{ContactName, MethodName, StepperName, name_of};
use crate::list;
use crate::source::Source;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::ws::{self, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clap::ValueEnum;
use futures_util::SinkExt;
use futures_util::stream::{SplitSink, SplitStream, StreamExt};
use linkwork_io::Format;
use serde_json::json;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// A page's message is at most so long, bytes: no order comes near it.
const LONGEST_MESSAGE: usize = 16 << 10;
/// A scene that is dropped on the page, bytes.
const LARGEST_SCENE: usize = 16 << 20;
/// So many pages at a time.
const MOST_PAGES: usize = 64;
/// A page that takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is served.
#[derive(Clone)]
pub enum Show {
    /// A simulation.
    Session(Published),
    /// A recording, bytes of its file.
    Recording(Bytes),
}

#[derive(Clone)]
struct Live {
    published: Published,
    /// Of this run of the server: a page that finds another one when it connects again has to forget what it knew.
    session: Arc<str>,
    pages: Arc<AtomicUsize>,
    next: Arc<AtomicU64>,
}

/// All addresses of the server.
pub fn router(show: Show, guard: Guard) -> Router {
    let text = |kind: &'static str, text: &'static str| move || async move { ([(header::CONTENT_TYPE, kind)], text) };
    let is_recording = matches!(show, Show::Recording(_));
    let html =
        move || async move { ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page::served(is_recording)) };
    let common = Router::new()
        .route("/", get(html))
        .route("/viewer.js", get(text("text/javascript; charset=utf-8", page::SCRIPT)))
        .route("/style.css", get(text("text/css; charset=utf-8", page::STYLE)));
    let routes = match show {
        Show::Recording(bytes) => {
            let recording =
                move || async move { ([(header::CONTENT_TYPE, "application/octet-stream")], bytes.clone()) };
            common.route("/recording.lwr", get(recording))
        }
        Show::Session(published) => {
            let live = Live { published, session: random_name(), pages: Arc::default(), next: Arc::default() };
            let session = Router::new()
                .route("/socket", get(socket))
                .route("/scene/{name}", post(open_scene))
                .layer(DefaultBodyLimit::max(LARGEST_SCENE))
                .with_state(live);
            common.merge(session)
        }
    };
    routes.layer(middleware::from_fn(move |request: Request, next: Next| check(guard, request, next)))
}

/// Refuses strangers, and says to the browser what the page may do.
async fn check(guard: Guard, request: Request, next: Next) -> Response {
    if let Some(reason) = guard.refusal(request.headers()) {
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let mut response = next.run(request).await;
    let policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' ws:; \
                  frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// A scene file that was dropped on the page.
async fn open_scene(
    State(live): State<Live>,
    Path(name): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let refused = |problem: String| (StatusCode::UNPROCESSABLE_ENTITY, problem).into_response();
    let Some(format) = Format::of_path(std::path::Path::new(&name)) else {
        let hint = match name.ends_with(".lwr") {
            true => "; recordings are shown by `linkwork view FILE.lwr`",
            false => "",
        };
        return refused(format!("{name} is no scene file by its name: scene files end in .toml or .json{hint}"));
    };
    let body = match body {
        Ok(body) => body,
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let most = LARGEST_SCENE >> 20;
            let problem =
                format!("{name} is larger than {most} MB, the most that a page can bring; give it to `linkwork view`");
            return (StatusCode::PAYLOAD_TOO_LARGE, problem).into_response();
        }
        Err(rejection) => return rejection.into_response(),
    };
    let Ok(text) = String::from_utf8(body.into()) else {
        return refused(format!("{name} is not text"));
    };
    // reading a large file takes a while, and the other pages shall go on meanwhile
    let read = tokio::task::spawn_blocking(move || Source::of_text(&name, text, format).map_err(|e| e.to_string()));
    let source = match read.await {
        Ok(Ok(source)) => source,
        Ok(Err(problem)) => return refused(problem),
        Err(_) => return refused("the file could not be read".to_owned()),
    };
    let (reply, answer) = oneshot::channel();
    let message = Message::Open(Box::new(source), reply);
    if live.published.orders.try_send(Envelope { client: 0, message }).is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the simulation is busy; try again").into_response();
    }
    match answer.await {
        Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
        Ok(Err(problem)) => refused(problem),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the simulation has ended").into_response(),
    }
}

async fn socket(State(live): State<Live>, upgrade: WebSocketUpgrade) -> Response {
    if live.pages.fetch_add(1, Ordering::Relaxed) >= MOST_PAGES {
        live.pages.fetch_sub(1, Ordering::Relaxed);
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages are open already").into_response();
    }
    let client = 1 + live.next.fetch_add(1, Ordering::Relaxed);
    let place = Place { live, client };
    upgrade
        .max_message_size(LONGEST_MESSAGE)
        .max_frame_size(LONGEST_MESSAGE)
        .on_upgrade(move |socket| async move { place.serve(socket).await })
}

/// A page's place in the session; left when dropped, however the connection ends.
struct Place {
    live: Live,
    client: Client,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.live.pages.fetch_sub(1, Ordering::Relaxed);
        let (orders, client) = (self.live.published.orders.clone(), self.client);
        if let Err(std::sync::mpsc::TrySendError::Full(envelope)) =
            orders.try_send(Envelope { client, message: Message::Gone })
        {
            // the queue is short-lived; the leave must not be lost, or the mouse of this page would pull for ever
            std::thread::spawn(move || orders.send(envelope));
        }
    }
}

type Sink = SplitSink<WebSocket, ws::Message>;
type Stream = SplitStream<WebSocket>;

/// Answers to what a page said that may wait until it takes them; more are dropped.
const ANSWERS: usize = 32;

impl Place {
    /// Until the page is gone. What it says is heard also while it takes nothing.
    async fn serve(self, socket: WebSocket) {
        let (sink, stream) = socket.split();
        let (watch, watched) = watch::channel(Watch::default());
        let (answer, answers) = mpsc::channel(ANSWERS);
        self.send_order(Message::Arrived);
        tokio::select! {
            () = self.hear(stream, &watch, &answer) => {}
            () = self.show(sink, watched, answers) => {}
        }
    }

    /// Takes orders.
    async fn hear(&self, mut stream: Stream, watch: &watch::Sender<Watch>, answer: &mpsc::Sender<String>) {
        while let Some(Ok(message)) = stream.next().await {
            let problem = match message {
                ws::Message::Text(said) => self.take_order(&said, watch).err(),
                ws::Message::Binary(_) => Some("pages send text".to_owned()),
                ws::Message::Close(_) => return,
                ws::Message::Ping(_) | ws::Message::Pong(_) => None,
            };
            if let Some(problem) = problem {
                let notice = json!({"type": "notice", "level": "error", "text": problem});
                // a page that takes no answers gets none
                let _ = answer.try_send(notice.to_string());
            }
        }
    }

    fn take_order(&self, said: &str, watch: &watch::Sender<Watch>) -> Result<(), String> {
        let order = Order::read(said)?;
        if let Order::Watch(wanted) = &order {
            watch.send_replace(wanted.clone());
        }
        match self.send_order(Message::Order(order)) {
            true => Ok(()),
            false => Err("the simulation is busy; the order was dropped".to_owned()),
        }
    }

    /// Sends what there is to be seen.
    async fn show(&self, mut sink: Sink, watched: watch::Receiver<Watch>, mut answers: mpsc::Receiver<String>) {
        let Published { mut frame, mut scene, mut status, mut warnings, notices, .. } = self.live.published.clone();
        let mut notices: broadcast::Receiver<(Option<Client>, Arc<str>)> = notices.subscribe();
        if send(&mut sink, text(&hello(self.client, &self.live.session))).await.is_err() {
            return;
        }
        for state in [&mut scene, &mut status, &mut warnings] {
            state.mark_changed();
        }
        frame.mark_changed();
        loop {
            // in this order: a scene comes before its frames
            let message = tokio::select! {
                biased;
                answer = answers.recv() => match answer {
                    Some(said) => text(&said),
                    None => return,
                },
                changed = scene.changed() => match changed {
                    Ok(()) => text(&scene.borrow_and_update()),
                    Err(_) => return,
                },
                changed = status.changed() => match changed {
                    Ok(()) => text(&status.borrow_and_update()),
                    Err(_) => return,
                },
                changed = warnings.changed() => match changed {
                    Ok(()) => text(&warnings.borrow_and_update()),
                    Err(_) => return,
                },
                notice = notices.recv() => match notice {
                    Ok((to, said)) if to.is_none_or(|client| client == self.client) => text(&said),
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                changed = frame.changed() => match changed {
                    Ok(()) => {
                        let shared = frame.borrow_and_update().clone();
                        let bytes = shared.for_page(&watched.borrow());
                        ws::Message::Binary(bytes.into())
                    }
                    Err(_) => return,
                },
            };
            if send(&mut sink, message).await.is_err() {
                return;
            }
        }
    }

    /// Whether the session has taken it.
    fn send_order(&self, message: Message) -> bool {
        self.live.published.orders.try_send(Envelope { client: self.client, message }).is_ok()
    }
}

fn text(said: &str) -> ws::Message {
    ws::Message::Text(said.into())
}

/// Sends; an error if the page is gone or does not take anything any more.
async fn send(sink: &mut Sink, message: ws::Message) -> Result<(), ()> {
    match tokio::time::timeout(PATIENCE, sink.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(()),
    }
}

/// What a page is told first.
fn hello(client: Client, session: &str) -> String {
    let scenes: Vec<serde_json::Value> = linkwork_scenes::all().iter().map(list::as_json).collect();
    json!({
        "type": "hello",
        "version": env!("CARGO_PKG_VERSION"),
        "client": client,
        "session": session,
        "methods": names::<MethodName>(),
        "steppers": names::<StepperName>(),
        "contacts": names::<ContactName>(),
        "scenes": scenes,
    })
    .to_string()
}

/// A name that no other run of the server has.
fn random_name() -> Arc<str> {
    // the standard library's own randomness, which hash maps are seeded with
    let number = RandomState::new().hash_one(std::process::id());
    format!("{number:016x}").into()
}

/// All choices of a kind, as the command line calls them.
fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name_of).collect()
}
