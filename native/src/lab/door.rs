//! Where the lab listens, and the key that readers need.
//!
//! A lab that others can reach serves its page, its presets and its counters to
//! every visitor. Only readers with the key see what the servent knows: its queue,
//! its recording, the seed. The key comes once in the URL and is then kept in a
//! cookie, so that neither the address bar nor a log contains it.
//!
//! The screen of a room has a key of its own: its address stands on a projector
//! or is handed to the projector, and opens what the screen shows, not what
//! the host may do.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::{Hub, guard};

const COOKIE: &str = "servent-lab";

/// The lab's address and key.
#[derive(Debug, Clone)]
pub(crate) struct LabDoor {
    pub(crate) address: SocketAddr,
    /// `None` when only this machine can reach it, and it is no room.
    pub(crate) key: Option<String>,
    /// The key of the screen, where there is one.
    pub(crate) screen: Option<String>,
}

impl LabDoor {
    /// The URL for a reader to open.
    pub(crate) fn url(&self) -> String {
        self.url_with(self.key.as_deref())
    }

    /// The URL for the screen of a room.
    pub(crate) fn screen_url(&self) -> String {
        self.url_with(self.screen.as_deref())
    }

    fn url_with(&self, key: Option<&str>) -> String {
        let query = key.map_or_else(String::new, |key| format!("?key={key}"));
        format!("http://{}/{query}", self.address)
    }
}

/// The query of the page's URL.
#[derive(Debug, Deserialize)]
pub(super) struct KeyQuery {
    key: Option<String>,
}

/// Redirects a reader who brings the key to the page without it.
pub(super) fn welcome(
    hub: &Hub,
    Query(given): Query<KeyQuery>,
    headers: &HeaderMap,
) -> Option<Response> {
    let key = given.key?;
    if !opens(hub, &key) {
        if !opens_screen(hub, &key) {
            return Some(refusal());
        }
        // The host who opens the screen, too, stays host.
        if may_read(hub, headers) {
            return Some(Redirect::to("/").into_response());
        }
    }
    let cookie = format!("{COOKIE}={key}; Path=/; HttpOnly; SameSite=Strict");
    Some(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

/// Admits only readers with the key.
pub(super) async fn check(State(hub): State<Arc<Hub>>, request: Request, next: Next) -> Response {
    if may_read(&hub, request.headers()) { next.run(request).await } else { refusal() }
}

/// Admits readers with that key, or with the screen's.
pub(super) async fn check_screen(
    State(hub): State<Arc<Hub>>,
    request: Request,
    next: Next,
) -> Response {
    let shows = cookies(request.headers()).any(|key| opens_screen(&hub, key));
    if shows || may_read(&hub, request.headers()) { next.run(request).await } else { refusal() }
}

/// True for readers who may see what the servent knows.
pub(super) fn may_read(hub: &Hub, headers: &HeaderMap) -> bool {
    key(hub).is_none()
        || guard::has_token(headers, &hub.token)
        || cookies(headers).any(|key| opens(hub, key))
}

/// The keys that a browser has.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|c| c.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|c| c.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, key)| key)
}

fn key(hub: &Hub) -> Option<&str> {
    hub.door.as_ref()?.key.as_deref()
}

fn opens(hub: &Hub, given: &str) -> bool {
    key(hub).is_none_or(|key| guard::same(given.as_bytes(), key.as_bytes()))
}

fn opens_screen(hub: &Hub, given: &str) -> bool {
    let screen = hub.door.as_ref().and_then(|door| door.screen.as_deref());
    screen.is_some_and(|key| guard::same(given.as_bytes(), key.as_bytes()))
}

fn refusal() -> Response {
    let text = "This needs the link with the key that the servent printed when it started.\n";
    (StatusCode::FORBIDDEN, text).into_response()
}
