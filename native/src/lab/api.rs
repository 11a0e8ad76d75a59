//! The JSON API of the lab.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use servent::Identity;
use servent_core::node::NodeCommand;
use servent_core::queue::server::Windows;

use super::{Hub, Live, door, guard};

/// The most queue entries in one response.
const MOST_CARDS: u32 = 10_000;

#[derive(Debug, Deserialize)]
pub(super) struct LaneWindow {
    servent: Option<String>,
    from: Option<u32>,
    count: Option<u32>,
}

/// `GET /api/info`: what this process offers. Without the right to read, a page
/// sees nothing to follow.
pub(super) async fn info(State(hub): State<Arc<Hub>>, headers: HeaderMap) -> Json<Value> {
    let (name, version) = (&hub.name, env!("CARGO_PKG_VERSION"));
    if !door::may_read(&hub, &headers) {
        let part = hub.part.is_some();
        return Json(
            json!({ "name": name, "version": version, "live": false, "part": part, "locked": true }),
        );
    }
    let servents: Vec<Value> = hub
        .servents
        .iter()
        .map(|s| json!({ "id": s.id, "name": s.name, "view": s.view }))
        .collect();
    Json(json!({
        "name": name,
        "version": version,
        "live": !hub.servents.is_empty(),
        "part": hub.part.is_some(),
        "servents": servents,
        "traces": hub.traces.list().into_keys().collect::<Vec<_>>(),
    }))
}

/// `GET /api/view`: a servent's state, with a window of its queue.
pub(super) async fn view(
    State(hub): State<Arc<Hub>>,
    Query(window): Query<LaneWindow>,
) -> Response {
    let Some(live) = hub.servent(window.servent.as_deref()) else {
        return missing("no such servent");
    };
    let count = window.count.unwrap_or(200).min(MOST_CARDS);
    match live.handle.view(window.from.unwrap_or(1), count).await {
        Ok(view) => Json(view).into_response(),
        Err(e) => (StatusCode::SERVICE_UNAVAILABLE, format!("{e}\n")).into_response(),
    }
}

/// The first place to show of each lane, and how many.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LaneOffsets {
    servent: Option<String>,
    sync: u32,
    #[serde(rename = "async")]
    asynchronous: u32,
    grace: u32,
    count: u32,
}

/// `GET /api/queue`: a servent's current queue, for a page whose recording does not
/// reach back to the start.
pub(super) async fn queue(
    State(hub): State<Arc<Hub>>,
    Query(wanted): Query<LaneOffsets>,
) -> Response {
    let Some(live) = hub.servent(wanted.servent.as_deref()) else {
        return missing("no such servent");
    };
    let count = wanted.count.min(MOST_CARDS);
    let windows = Windows {
        sync: (wanted.sync, count),
        asynchronous: (wanted.asynchronous, count),
        grace: (wanted.grace, count),
    };
    match live.handle.lanes(windows).await {
        Ok(lanes) => Json(lanes).into_response(),
        Err(e) => (StatusCode::SERVICE_UNAVAILABLE, format!("{e}\n")).into_response(),
    }
}

/// `GET /api/status`: everything that `servent status` prints.
pub(super) async fn status(
    State(hub): State<Arc<Hub>>,
    Query(window): Query<LaneWindow>,
) -> Response {
    let count = window.count.unwrap_or(20).min(MOST_CARDS);
    let mut servents = Vec::new();
    for live in &hub.servents {
        match one_status(live, count).await {
            Ok(value) => servents.push(value),
            Err(e) => return (StatusCode::SERVICE_UNAVAILABLE, format!("{e}\n")).into_response(),
        }
    }
    Json(json!({
        "name": hub.name,
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "servents": servents,
    }))
    .into_response()
}

async fn one_status(live: &Live, count: u32) -> Result<Value, servent::error::RunError> {
    let handle = &live.handle;
    Ok(json!({
        "id": live.id,
        "name": live.name,
        "listen": handle.addrs(),
        "library": handle.library(),
        "counters": handle.counters(),
        "view": handle.view(1, count).await?,
        "overlay": handle.neighbourhood().await?,
        "store_away": handle.is_store_unavailable(),
        "parts": handle.standing(),
        "meeting": handle.meeting(),
        "place": handle.place().await,
        "certificate_ends": handle.identity().map(Identity::ends),
    }))
}

/// `GET /api/traces`: the names of the recorded traces.
pub(super) async fn traces(State(hub): State<Arc<Hub>>) -> Json<Vec<String>> {
    Json(hub.traces.list().into_keys().collect())
}

/// `GET /api/traces/<name>`: a recorded trace.
pub(super) async fn trace(State(hub): State<Arc<Hub>>, Path(name): Path<String>) -> Response {
    let Some(path) = hub.traces.path(&name) else {
        return missing("no such trace");
    };
    match tokio::fs::read(path).await {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/qlog+json-seq")], bytes).into_response(),
        Err(e) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{e}\n")).into_response(),
    }
}

/// `POST /api/command`: one [`NodeCommand`] as JSON. Requires the token.
pub(super) async fn command(
    State(hub): State<Arc<Hub>>,
    Query(window): Query<LaneWindow>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if !guard::has_token(&headers, &hub.token) {
        let text = "a change of state needs the token from the state folder's control.json\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let Some(live) = hub.servent(window.servent.as_deref()) else {
        return missing("no such servent");
    };
    match serde_json::from_str::<NodeCommand>(&body) {
        Ok(command) => match live.handle.command(command).await {
            Ok(()) => StatusCode::NO_CONTENT.into_response(),
            Err(e) => (StatusCode::SERVICE_UNAVAILABLE, format!("{e}\n")).into_response(),
        },
        Err(e) => (StatusCode::BAD_REQUEST, format!("not a command: {e}\n")).into_response(),
    }
}

fn missing(what: &str) -> Response {
    (StatusCode::NOT_FOUND, format!("{what}\n")).into_response()
}
