//! Where the lab listens, and what a reader has to show there.
//!
//! A lab that others reach gives its page, its presets and its counters to
//! everybody. Who has the link with the key reads what the servent knows, too:
//! its line, its tape, the seed. The key comes once in the address and stays in
//! a cookie, so that neither the address bar nor a log keeps it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::{Hub, guard};

const COOKIE: &str = "servent-lab";

/// Where the lab is, and its key.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    /// `None` where only this machine reaches it.
    pub(crate) key: Option<String>,
}

impl Door {
    /// What a reader opens.
    pub(crate) fn url(&self) -> String {
        let query = self.key.as_ref().map_or_else(String::new, |key| format!("?key={key}"));
        format!("http://{}/{query}", self.address)
    }
}

/// What stands behind the `?` of the page's address.
#[derive(Debug, Deserialize)]
pub(super) struct Given {
    key: Option<String>,
}

/// Where somebody who brings the key goes on: to the page without it.
pub(super) fn welcome(hub: &Hub, Query(given): Query<Given>) -> Option<Response> {
    let key = given.key?;
    if !opens(hub, &key) {
        return Some(refusal());
    }
    let cookie = format!("{COOKIE}={key}; Path=/; HttpOnly; SameSite=Strict");
    Some(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

/// Lets only those in who have the key.
pub(super) async fn check(State(hub): State<Arc<Hub>>, request: Request, next: Next) -> Response {
    if may_read(&hub, request.headers()) { next.run(request).await } else { refusal() }
}

/// True for whoever may read what the servent knows.
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
