//! What pages report of themselves during a lesson, and what the teacher does.

use std::net::SocketAddrV4;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::json;
use servent::driver::{Handle, SettingChange};
use servent::error::RunError;
use servent_core::node::{HttpCommand, NodeCommand};
use servent_sim::lesson::group::{Deeds, Facts, group_in};
use tokio::task::spawn_blocking;

use super::Hub;
use super::class::PageStatus;
use super::hand_in::{collect, tape_of};
use super::part::PageParticipation;
use super::recording::Recording;

/// The most that a page says of itself, in bytes: all that it shows is in it.
pub(super) const SAID: usize = 64 << 10;

/// Who says it.
#[derive(Debug, Deserialize)]
pub(super) struct TeachSpeaker {
    at: SocketAddrV4,
    secret: String,
}

/// `POST /api/room/page`: a page says how it is, and hears where the class is.
pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Query(who): Query<TeachSpeaker>,
    Json(said): Json<PageStatus>,
) -> Response {
    let (Some(part), Some(live)) = (&hub.part, hub.servent(None)) else {
        return (StatusCode::NOT_FOUND, "this is no room\n").into_response();
    };
    if !live.handle.is_page(who.at, &who.secret) {
        return (StatusCode::FORBIDDEN, "no page that is here says so\n").into_response();
    }
    let shown = {
        let mut class = part.class();
        class.receive(who.at, said, part.clock.now());
        class.shown(who.at)
    };
    // A page that is in stays in: it learns the code that others need.
    Json(json!({ "class": shown, "code": live.handle.code(), "typed": part.is_typed() }))
        .into_response()
}

/// An action of the teacher.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Teach {
    /// Begin a lesson by its name, or end the one that is going on.
    Lesson(Option<String>),
    /// Go to a step, counted from 0.
    Step(usize),
    /// All pages go on when they like.
    OwnPace(bool),
    /// Ask the recording again what happened.
    Count,
    /// Show a page to the class, or none.
    Mirror(Option<SocketAddrV4>),
    /// Every page forgets everything, and begins as a new one.
    Reset,
}

/// Why it could not be done.
type RefusedLesson = (StatusCode, String);

pub(super) async fn teach(
    part: &PageParticipation,
    handle: &Handle,
    act: Teach,
) -> Result<(), RefusedLesson> {
    let failed =
        |why: &dyn std::fmt::Display| (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n"));
    match act {
        Teach::Lesson(id) => {
            let lesson = id.and_then(|id| group_in(&id, "en"));
            if lesson.is_some() {
                // What happened is computed from the recording.
                part.record(handle).map_err(|why| failed(&why))?;
            }
            give_back(part, handle).await?;
            if lesson.is_some() {
                let before = part.set_up(handle).await.map_err(|why| ended(&why))?;
                part.class().keep(before);
            }
            part.class().begin(lesson, part.clock.now());
            enter(part, handle, 0).await?;
        }
        Teach::Step(step) => enter(part, handle, step).await?,
        Teach::OwnPace(own) => part.class().at_own_pace(own),
        Teach::Count => count(part, handle).await?,
        Teach::Mirror(whose) => part.class().mirror(whose),
        Teach::Reset => {
            part.class().forget();
            handle.tell_pages("RESET");
        }
    }
    handle.tell_pages("CLASS");
    Ok(())
}

/// Comes to a step: the room is set up as it says, and the recording asked.
async fn enter(
    part: &PageParticipation,
    handle: &Handle,
    step: usize,
) -> Result<(), RefusedLesson> {
    let entered = part.class().go(step, part.clock.now());
    let Some((step, asks)) = entered else { return Ok(()) };
    set(part, handle, step.room).await?;
    if asks { count(part, handle).await } else { Ok(()) }
}

/// Sets the room up.
async fn set(part: &PageParticipation, handle: &Handle, deeds: Deeds) -> Result<(), RefusedLesson> {
    let Deeds { slots, degree, ttl, policy, rate } = deeds;
    let slots = slots.map(|slots| NodeCommand::Http(HttpCommand::Slots { slots }));
    let policy = policy.map(|policy| NodeCommand::Http(HttpCommand::Policy { policy }));
    for command in slots.into_iter().chain(policy) {
        handle.command(command).await.map_err(|why| ended(&why))?;
    }
    if let Some(rate) = rate {
        let ceiling = SettingChange::Ceiling(Some(rate.into()));
        handle.change(ceiling).await.map_err(|why| ended(&why))?;
        part.class().limited(rate);
    }
    if part.change_rules(degree, ttl) {
        handle.tell_pages("RULES");
    }
    Ok(())
}

/// The room is set up again as it was before the lesson.
async fn give_back(part: &PageParticipation, handle: &Handle) -> Result<(), RefusedLesson> {
    let before = part.class().give_back();
    let Some(before) = before else { return Ok(()) };
    let free = handle.change(SettingChange::Ceiling(None)).await;
    free.map_err(|why| ended(&why))?;
    set(part, handle, before).await
}

fn ended(why: &RunError) -> RefusedLesson {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"))
}

/// Asks the recording what the class did.
async fn count(part: &PageParticipation, handle: &Handle) -> Result<(), RefusedLesson> {
    let Some((run, since)) = part.class().since() else { return Ok(()) };
    let failed =
        |why: &dyn std::fmt::Display| (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n"));
    let Some(recording) = part.recording.clone().filter(|it| it.recorded().is_some()) else {
        return Err((StatusCode::CONFLICT, "the room is not recorded\n".into()));
    };
    collect(handle, &recording).await;
    let servent = tape_of(handle);
    let facts = spawn_blocking(move || {
        whole(&recording, &servent).map(|tapes| Facts::from_recording(&tapes, since))
    });
    let facts = facts.await.map_err(|why| failed(&why))?.map_err(|why| failed(&why))?;
    part.class().tell(run, facts);
    Ok(())
}

/// All recordings so far.
fn whole(recording: &Recording, servent: &[u8]) -> std::io::Result<Vec<u8>> {
    let copy = recording.copy();
    recording.put_together(servent, &copy)?;
    let tapes = std::fs::read(&copy);
    std::fs::remove_file(&copy)?;
    tapes
}
