//! Where the lab listens, and the key that readers need.
//!
//! A lab that others can reach serves its page, its presets and its counters to
//! everybody. Only readers with the key see what the servent knows: its queue,
//! its tape, the seed. The key comes once in the URL and is then kept in a
//! cookie, so that neither the address bar nor a log contains it.

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
}

impl LabDoor {
    /// The URL for a reader to open.
    pub(crate) fn url(&self) -> String {
        let query = self.key.as_ref().map_or_else(String::new, |key| format!("?key={key}"));
        format!("http://{}/{query}", self.address)
    }
}

/// The query of the page's URL.
#[derive(Debug, Deserialize)]
pub(super) struct KeyQuery {
    key: Option<String>,
}

/// Redirects a reader who brings the key to the page without it.
pub(super) fn welcome(hub: &Hub, Query(given): Query<KeyQuery>) -> Option<Response> {
    let key = given.key?;
    if !opens(hub, &key) {
        return Some(refusal());
    }
    let cookie = format!("{COOKIE}={key}; Path=/; HttpOnly; SameSite=Strict");
    Some(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

/// Admits only readers with the key.
pub(super) async fn check(State(hub): State<Arc<Hub>>, request: Request, next: Next) -> Response {
    if may_read(&hub, request.headers()) { next.run(request).await } else { refusal() }
}

/// True for readers who may see what the servent knows.
pub(super) fn may_read(hub: &Hub, headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|c| c.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|c| c.trim().split_once('='));
    key(hub).is_none()
        || guard::has_token(headers, &hub.token)
        || pairs.any(|(name, value)| name == COOKIE && opens(hub, value))
}

fn key(hub: &Hub) -> Option<&str> {
    hub.door.as_ref()?.key.as_deref()
}

fn opens(hub: &Hub, given: &str) -> bool {
    key(hub).is_none_or(|key| guard::same(given.as_bytes(), key.as_bytes()))
}

fn refusal() -> Response {
    let text = "This needs the link with the key that the servent printed when it started.\n";
    (StatusCode::FORBIDDEN, text).into_response()
}
