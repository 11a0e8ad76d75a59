//! The lab's web server: the page, the live recordings of the servents of this
//! process, recorded traces, and the data of `servent status`.

mod api;
mod class;
mod control;
mod door;
mod guard;
mod hand_in;
mod health;
mod listener;
mod metrics;
mod page;
mod part;
mod prompt;
mod recording;
mod seats;
pub(crate) mod swarm;
mod tape;
mod teach;
pub(crate) mod traces;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware;
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use servent::driver::Handle;
use servent::sys::is_port_in_use;
use tokio::net::TcpListener;

pub(crate) use self::control::serve as control;
pub(crate) use self::door::LabDoor;
pub(crate) use self::hand_in::collect;
pub(crate) use self::health::stand_by;
pub(crate) use self::page::{PageOrigin, packed_page};
pub(crate) use self::part::PageParticipation;
pub(crate) use self::recording::Recording;
pub(crate) use self::tape::Readers;
pub(crate) use self::traces::Traces;

/// Ports after the usual one that are tried before any free one is used.
const NEXT_PORTS: usize = 20;

/// Everything the web server can show.
pub(crate) struct Hub {
    /// This process's name on the page.
    pub(crate) name: String,
    /// The servents that run here.
    pub(crate) servents: Vec<Live>,
    /// Recorded traces.
    pub(crate) traces: Traces,
    /// The page.
    pub(crate) page: PageOrigin,
    /// The token that changes of state require.
    pub(crate) token: String,
    /// The readers that may follow the recording.
    pub(crate) readers: Readers,
    /// The address of the page, if it is served.
    pub(crate) door: Option<LabDoor>,
    /// Where a page takes part, if it can.
    pub(crate) part: Option<PageParticipation>,
}

/// A servent that runs in this process.
pub(crate) struct Live {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The view that its page begins with.
    pub(crate) view: &'static str,
    pub(crate) handle: Handle,
}

impl Hub {
    /// The servent with that id; the first one when none is named.
    fn servent(&self, id: Option<&str>) -> Option<&Live> {
        match id {
            None => self.servents.first(),
            Some(id) => self.servents.iter().find(|s| s.id == id),
        }
    }
}

/// Listens at `at`. Unless the port was `chosen`, the next free one will do.
pub(crate) async fn listen(at: SocketAddr, chosen: bool) -> io::Result<TcpListener> {
    match TcpListener::bind(at).await {
        Err(e) if is_port_in_use(&e) && !chosen => {
            for port in (at.port()..).skip(1).take(NEXT_PORTS) {
                if let Ok(listener) = TcpListener::bind(SocketAddr::new(at.ip(), port)).await {
                    return Ok(listener);
                }
            }
            TcpListener::bind(SocketAddr::new(at.ip(), 0)).await
        }
        other => other,
    }
}

/// Serves until `done` resolves.
pub(crate) async fn serve(
    listener: TcpListener,
    hub: Arc<Hub>,
    done: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    listener::serve(&listener, router(hub), done).await
}

fn router(hub: Arc<Hub>) -> Router {
    let known = Router::new()
        .route("/api/status", get(api::status))
        .route("/api/view", get(api::view))
        .route("/api/queue", get(api::queue))
        .route("/api/room", post(part::act))
        .route("/api/room/recording", get(hand_in::recording))
        .route("/api/tape", get(tape::tape))
        .route("/api/traces", get(api::traces))
        .route("/api/traces/{name}", get(api::trace))
        .layer(middleware::from_fn_with_state(Arc::clone(&hub), door::check));
    let screen = Router::new()
        .route("/api/room", get(part::room))
        .layer(middleware::from_fn_with_state(Arc::clone(&hub), door::check_screen));
    let limit = DefaultBodyLimit::max(hand_in::PIECE);
    let hand_in = post(hand_in::hand_in).layer(limit);
    Router::new()
        .route("/", get(index))
        .route("/{*name}", get(file))
        .route("/api/info", get(api::info))
        .route("/api/part", get(part::part))
        .merge(known)
        .merge(screen)
        .route("/api/room/tape", hand_in)
        .route("/api/room/page", post(teach::page).layer(DefaultBodyLimit::max(teach::SAID)))
        .route("/api/command", post(api::command))
        .route("/metrics", get(metrics::metrics))
        .layer(middleware::from_fn(guard::guard))
        // Load balancers ask by any name or none; the answers are no secret.
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .with_state(hub)
}

async fn index(hub: State<Arc<Hub>>, given: Query<door::KeyQuery>, headers: HeaderMap) -> Response {
    if let Some(answer) = door::welcome(&hub, given, &headers) {
        return answer;
    }
    if !hub.page.exists() {
        return Html(page::MISSING).into_response();
    }
    file(hub, Path(String::new())).await
}

async fn file(State(hub): State<Arc<Hub>>, Path(name): Path<String>) -> Response {
    let room = hub.part.as_ref().is_some_and(|part| part.url.is_some());
    let Some(file) = hub.page.file(&name, room).await else {
        return (StatusCode::NOT_FOUND, "no such page\n").into_response();
    };
    let mut answer = ([(header::CONTENT_TYPE, file.kind)], file.bytes).into_response();
    if let Some(script) = file.script {
        let policy = guard::policy(Some(&script), hub.part.is_some());
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}
