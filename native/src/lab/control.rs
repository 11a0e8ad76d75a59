//! The control API that commands on this machine use on a running servent.
//! A program that may open the socket may use all of it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use servent::driver::Handle;
use servent::error::{RunError, ShareError};
use servent::sys::ControlListener;
use servent::{Credentials, ShareOutcome};
use servent_core::id::FetchId;
use servent_core::node::{FetchCommand, Get, NodeCommand, NodeView};

use super::{Hub, api};

/// Serves until it is dropped.
pub(crate) async fn serve(listener: ControlListener, hub: Arc<Hub>) -> io::Result<()> {
    let router = Router::new()
        .route("/lab", get(lab))
        .route("/status", get(api::status))
        .route("/rescan", post(rescan))
        .route("/shares", post(share).delete(unshare))
        .route("/state", post(export))
        .route("/credentials", post(introduce))
        .route("/downloads", get(downloads).post(download))
        .route("/downloads/{number}/{what}", post(change))
        .with_state(hub);
    axum::serve(listener, router).await
}

/// Why a request failed: status and sentence.
type RefusedCommand = (StatusCode, String);

/// The servent that requests are about: the first one.
fn servent(hub: &Hub) -> Result<&Handle, RefusedCommand> {
    let none = || (StatusCode::NOT_FOUND, "nothing runs here that could do that".to_owned());
    hub.servents.first().map(|live| &live.handle).ok_or_else(none)
}

fn ended(why: RunError) -> RefusedCommand {
    (StatusCode::SERVICE_UNAVAILABLE, why.to_string())
}

/// `GET /lab`: the URL of the lab; `null` if it is off.
async fn lab(State(hub): State<Arc<Hub>>) -> Json<Option<String>> {
    Json(hub.door.as_ref().map(super::LabDoor::url))
}

/// `POST /rescan`: every servent scans its shared folders again soon.
async fn rescan(State(hub): State<Arc<Hub>>) -> StatusCode {
    hub.servents.iter().for_each(|live| live.handle.rescan());
    StatusCode::NO_CONTENT
}

/// A folder or file.
#[derive(Debug, Deserialize)]
struct NamedPath {
    path: PathBuf,
}

/// `POST /shares`: shares one more folder or file.
async fn share(State(hub): State<Arc<Hub>>, Json(named): Json<NamedPath>) -> Response {
    match servent(&hub) {
        Ok(handle) => outcome(handle.share(named.path).await),
        Err(refused) => refused.into_response(),
    }
}

/// `DELETE /shares`: stops sharing one.
async fn unshare(State(hub): State<Arc<Hub>>, Json(named): Json<NamedPath>) -> Response {
    match servent(&hub) {
        Ok(handle) => outcome(handle.unshare(named.path).await),
        Err(refused) => refused.into_response(),
    }
}

fn outcome(done: Result<ShareOutcome, ShareError>) -> Response {
    match done {
        Ok(outcome) => Json(outcome).into_response(),
        Err(why @ ShareError::Gone) => {
            (StatusCode::SERVICE_UNAVAILABLE, why.to_string()).into_response()
        }
        Err(ShareError::NotShared { ref path, ref shared }) => {
            let shared: Vec<String> = shared.iter().map(|s| s.display().to_string()).collect();
            let text = format!("{} is not shared; what is: {}", path.display(), shared.join(", "));
            (StatusCode::NOT_FOUND, text).into_response()
        }
        Err(why) => (StatusCode::UNPROCESSABLE_ENTITY, why.to_string()).into_response(),
    }
}

/// `POST /state`: copies the stored state to a file.
async fn export(
    State(hub): State<Arc<Hub>>,
    Json(to): Json<NamedPath>,
) -> Result<StatusCode, RefusedCommand> {
    let failed = |why: RunError| (StatusCode::UNPROCESSABLE_ENTITY, why.to_string());
    servent(&hub)?.export(to.path).await.map_err(failed)?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /downloads`: all downloads, and their folder.
async fn downloads(State(hub): State<Arc<Hub>>) -> Result<Json<Value>, RefusedCommand> {
    let handle = servent(&hub)?;
    let view = handle.view(1, 0).await.map_err(ended)?;
    let file = |fetch: u32| handle.path_of(FetchId(fetch));
    let all: Vec<Value> =
        view.fetches.iter().map(|it| json!({ "download": it, "file": file(it.fetch) })).collect();
    Ok(Json(json!({ "folder": handle.download_dir(), "downloads": all })))
}

/// `POST /downloads`: adds one; the response is its number.
async fn download(
    State(hub): State<Arc<Hub>>,
    Json(wanted): Json<Get>,
) -> Result<Json<u32>, RefusedCommand> {
    let handle = servent(&hub)?;
    let (name, first) = (wanted.name.clone(), wanted.sources.first().map(|s| s.at.to_string()));
    if let Some(there) = there(handle, &wanted).await? {
        return Ok(Json(there));
    }
    handle.command(NodeCommand::Fetch(FetchCommand::Get(wanted))).await.map_err(ended)?;
    // Commands and views are processed in order.
    let view = handle.view(1, 0).await.map_err(ended)?;
    let same = |at: &String| first.as_ref().is_none_or(|first| first == at);
    let found =
        view.fetches.iter().rev().find(|fetch| {
            fetch.name == name && fetch.sources.iter().any(|source| same(&source.at))
        });
    found.map(|fetch| Json(fetch.fetch)).ok_or_else(|| {
        let text = "there are as many downloads as `fetch.fetches` allows";
        (StatusCode::CONFLICT, text.to_owned())
    })
}

/// The download that is whole already and whose file is still there, when the same is
/// wanted once more.
async fn there(handle: &Handle, wanted: &Get) -> Result<Option<u32>, RefusedCommand> {
    let view = handle.view(1, 0).await.map_err(ended)?;
    let same = |at: &String| wanted.sources.iter().any(|source| source.at.to_string() == *at);
    let found = view.fetches.iter().find(|fetch| {
        fetch.state == "done"
            && fetch.name == wanted.name
            && fetch.sources.iter().any(|source| same(&source.at))
            && handle.path_of(FetchId(fetch.fetch)).is_some_and(|path| path.exists())
    });
    Ok(found.map(|fetch| fetch.fetch))
}

/// A name and a password for these hosts.
#[derive(Deserialize)]
struct Introduction {
    user: String,
    password: String,
    hosts: Vec<String>,
}

/// `POST /credentials`: says a name and a password to some hosts, as long as
/// there are downloads. Nothing gives them out again.
async fn introduce(
    State(hub): State<Arc<Hub>>,
    Json(who): Json<Introduction>,
) -> Result<StatusCode, RefusedCommand> {
    let credentials = Credentials::new(&who.user, &who.password, who.hosts);
    let learned = servent(&hub)?.learn_credentials(credentials);
    learned.map_err(|why| (StatusCode::UNPROCESSABLE_ENTITY, why.to_string()))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Without an unfinished download the passwords are not needed.
fn tidy_up(handle: &Handle, view: &NodeView) -> Result<(), RefusedCommand> {
    if view.fetches.iter().any(|fetch| fetch.state != "done") {
        return Ok(());
    }
    handle.forget_credentials().map_err(|why| (StatusCode::UNPROCESSABLE_ENTITY, why.to_string()))
}

/// `POST /downloads/NUMBER/WHAT`: pauses, resumes or removes it.
async fn change(
    State(hub): State<Arc<Hub>>,
    Path((number, what)): Path<(u32, String)>,
) -> Result<StatusCode, RefusedCommand> {
    let handle = servent(&hub)?;
    let fetch = FetchId(number);
    let command = match &*what {
        "pause" => NodeCommand::Fetch(FetchCommand::Pause { fetch }),
        "resume" => NodeCommand::Fetch(FetchCommand::Resume { fetch }),
        "remove" => NodeCommand::Fetch(FetchCommand::Cancel { fetch }),
        _ => return Err((StatusCode::NOT_FOUND, format!("no download can be told to {what}"))),
    };
    let view = handle.view(1, 0).await.map_err(ended)?;
    match view.fetches.iter().find(|fetch| fetch.fetch == number) {
        None => Err((StatusCode::NOT_FOUND, format!("there is no download {number}"))),
        Some(fetch) if fetch.state == "done" && what != "remove" => {
            Err((StatusCode::CONFLICT, format!("download {number} is whole already")))
        }
        Some(_) => {
            handle.command(command).await.map_err(ended)?;
            // Afterwards the change is visible to the next request.
            let view = handle.view(1, 0).await.map_err(ended)?;
            if what == "remove" {
                tidy_up(handle, &view)?;
            }
            Ok(StatusCode::NO_CONTENT)
        }
    }
}
