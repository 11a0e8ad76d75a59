//! What a page needs to take part, and what the screen of a room shows.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use qrcode::{Color, EcLevel, QrCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servent::Clock;
use servent::driver::Handle;
use servent::error::RunError;
use servent_core::node::{HttpCommand, NodeCommand};
use servent_core::queue::QueuePolicy;
use servent_sim::lesson::group::Deeds;

use super::class::Class;
use super::teach::{Teach, teach};
use super::{Hub, Recording, door};

/// Places of the queue on the screen of a room.
const PLACES: u32 = 40;

/// What the servents of pages are configured with, by the host of the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageRules {
    /// Uploads of a page at once.
    slots: u32,
    /// Neighbours that a page looks for.
    degree: u32,
    /// How far a search goes.
    ttl: u8,
    /// How those who wait for a page are told to ask again.
    #[serde(default)]
    policy: QueuePolicy,
}

impl PageRules {
    /// The most of each: a page is no server.
    const MOST: Self = Self { slots: 16, degree: 8, ttl: 7, policy: QueuePolicy::Adaptive };

    fn clamped(self) -> Self {
        Self {
            slots: self.slots.clamp(1, Self::MOST.slots),
            degree: self.degree.clamp(1, Self::MOST.degree),
            ttl: self.ttl.clamp(1, Self::MOST.ttl),
            policy: self.policy,
        }
    }
}

impl Default for PageRules {
    fn default() -> Self {
        Self { slots: 2, degree: 3, ttl: 7, policy: QueuePolicy::default() }
    }
}

/// What the host has asked of the pages, also of those that come later.
#[derive(Debug, Clone, Default, Serialize)]
struct Wishes {
    rules: PageRules,
    /// Of a thousand datagrams from page to page so many are lost.
    loss: u32,
    /// No page searches, downloads or shares for now; what runs goes on.
    frozen: bool,
    /// People type their names.
    typed: bool,
    /// The names of pages that are cut off from the room's servent.
    cut: BTreeSet<String>,
    /// The addresses of pages of which neither reaches the other.
    apart: BTreeSet<[SocketAddrV4; 2]>,
}

/// The most pages that are cut off, and pairs that are, and letters of a name.
const CUT: usize = 64;
const NAME: usize = 64;
/// The most that may be lost of a thousand datagrams.
const LOSS: u32 = 500;

/// Where pages take part.
#[derive(Debug, Clone)]
pub(crate) struct PageParticipation {
    /// The port at which the servent answers WebSockets.
    port: u16,
    /// Its addresses. A page reaches all of them by the one it came from.
    own: Vec<SocketAddr>,
    /// The address that people open, when this is a room.
    pub(crate) url: Option<String>,
    wishes: Arc<Mutex<Wishes>>,
    class: Arc<Mutex<Class>>,
    pub(super) clock: Clock,
    /// Pages share nothing.
    pub(crate) given: bool,
    /// Pages try what a room needs of its network.
    pub(crate) check: bool,
    /// What a room can be recorded with.
    pub(crate) recording: Option<Arc<Recording>>,
}

impl PageParticipation {
    /// For a servent that is reached at these addresses; `None` without any.
    pub(crate) fn new(reached: &[SocketAddr], url: Option<String>) -> Option<Self> {
        let port = reached.first()?.port();
        let here = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let mut own = reached.to_vec();
        if !own.contains(&here) {
            own.push(here);
        }
        Some(Self {
            port,
            own,
            url,
            wishes: Arc::default(),
            class: Arc::default(),
            clock: Clock::new(),
            given: false,
            check: false,
            recording: None,
        })
    }

    pub(super) fn class(&self) -> MutexGuard<'_, Class> {
        self.class.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// People type their names.
    pub(super) fn is_typed(&self) -> bool {
        self.wishes().typed
    }

    /// Lets people type their names, or draws them.
    pub(crate) fn type_names(&self, typed: bool) {
        self.wishes().typed = typed;
    }

    /// Changes what is said of the rules; false when it was so before.
    pub(super) fn change_rules(&self, degree: Option<u32>, ttl: Option<u8>) -> bool {
        let mut wishes = self.wishes();
        let PageRules { degree: d, ttl: t, .. } = wishes.rules;
        let rules =
            PageRules { degree: degree.unwrap_or(d), ttl: ttl.unwrap_or(t), ..wishes.rules };
        let changed = rules.clamped() != wishes.rules;
        wishes.rules = rules.clamped();
        changed
    }

    /// How the room is set up, as far as a lesson can change it.
    pub(super) async fn set_up(&self, handle: &Handle) -> Result<Deeds, RunError> {
        let queue = handle.view(1, 0).await?.queue;
        let PageRules { degree, ttl, .. } = self.wishes().rules;
        Ok(Deeds {
            slots: Some(queue.slots),
            degree: Some(degree),
            ttl: Some(ttl),
            policy: Some(queue.policy),
            rate: None,
        })
    }

    /// Records the room from now on, if it is not recorded yet.
    pub(super) fn record(&self, handle: &Handle) -> std::io::Result<()> {
        let Some(recording) = self.recording.as_ref().filter(|it| it.recorded().is_none()) else {
            return Ok(());
        };
        recording.begin()?;
        handle.tell_pages(&format!("TAPE {}", recording.ask()));
        Ok(())
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name that a page has drawn.
#[derive(Debug, Deserialize)]
pub(super) struct NameQuery {
    name: Option<String>,
}

/// `GET /api/part`: for every visitor who may open the page. A page that asks with the
/// name that it has drawn learns whether another page has that name.
pub(super) async fn part(
    State(hub): State<Arc<Hub>>,
    Query(NameQuery { name }): Query<NameQuery>,
) -> Response {
    let Some(part) = &hub.part else {
        return (StatusCode::NOT_FOUND, "no page can take part here\n").into_response();
    };
    let PageParticipation { port, own, url, .. } = part;
    let Wishes { rules, loss, frozen, typed, cut, apart } = part.wishes().clone();
    let code = hub.servent(None).is_some_and(|live| live.handle.code().is_some());
    let recorded = part.recording.as_ref().is_some_and(|it| it.recorded().is_some());
    Json(json!({
        "port": port, "own": own, "room": url.is_some(), "rules": rules, "recorded": recorded,
        "loss": loss, "frozen": frozen, "given": part.given, "cut": cut,
        "apart": apart, "typed": typed, "code": code,
        "check": part.check, "taken": name.is_some_and(|name| part.class().has(&name)),
    }))
    .into_response()
}

/// `GET /api/room`: what the screen in front of the room shows, and to the host
/// how each page is.
pub(super) async fn room(State(hub): State<Arc<Hub>>, headers: HeaderMap) -> Response {
    let (Some(part), Some(live)) = (&hub.part, hub.servent(None)) else {
        return (StatusCode::NOT_FOUND, "this is no room\n").into_response();
    };
    let (Ok(view), Ok(around)) =
        (live.handle.view(1, PLACES).await, live.handle.neighbourhood().await)
    else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the servent has ended\n").into_response();
    };
    let people: Vec<Value> = around
        .iter()
        .flat_map(|around| &around.router.links)
        .map(|link| {
            json!({
                "peer": link.peer, "agent": link.agent,
                "received": link.received, "sent": link.sent,
            })
        })
        .collect();
    let code = part.url.as_deref().map(modules);
    let relayed = live.handle.relayed().map(
        |relayed| json!({ "pages": relayed.pages, "calls": relayed.calls, "bytes": relayed.bytes }),
    );
    let wishes = part.wishes().clone();
    let class = if door::may_read(&hub, &headers) {
        part.class().private(part.clock.now())
    } else {
        part.class().names(part.clock.now())
    };
    let shown = json!({
        "url": part.url, "code": code, "people": people, "view": view, "relayed": relayed,
        "rules": wishes.rules, "loss": wishes.loss, "frozen": wishes.frozen,
        "cut": wishes.cut, "apart": wishes.apart, "typed": wishes.typed,
        "secret": live.handle.code(),
        "projected": part.class().projected(), "class": class,
        "out": live.handle.out(),
        "recorded": part.recording.as_ref().and_then(|recording| recording.recorded()),
    });
    Json(shown).into_response()
}

/// What the host of a room can do. No other page can: it needs the key.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RoomAction {
    /// Say a sentence on every page.
    Say(String),
    /// Uploads at once, of the room's servent.
    Slots(u32),
    /// How a page that waits for the room's servent learns when to ask again.
    Policy(QueuePolicy),
    /// What the servents of pages are configured with; they begin with it anew,
    /// and keep their files and places.
    Rules(PageRules),
    /// Lose so many of a thousand datagrams from page to page.
    Loss(u32),
    /// No page searches, downloads or shares until this is taken back.
    Freeze(bool),
    /// Cut the pages of this name off from the room's servent; other pages reach
    /// them as before.
    Cut(String),
    /// Mend that.
    Mend(String),
    /// Cut the link between these two pages, and let them make no other.
    Part([SocketAddrV4; 2]),
    /// Let these two make one again.
    Join([SocketAddrV4; 2]),
    /// End what this address has here, and answer it no more.
    PutOut(IpAddr),
    /// Answer all pages again.
    LetIn,
    /// Record the room from now on, or delete what was recorded.
    Record(bool),
    /// Draw another code that pages need to come in, or need none.
    Code(bool),
    /// Let people type their names, or draw them.
    Typed(bool),
    /// Teach.
    Teach(Teach),
}

/// `POST /api/room`: what the host does.
pub(super) async fn act(State(hub): State<Arc<Hub>>, Json(act): Json<RoomAction>) -> Response {
    let (Some(part), Some(live)) = (&hub.part, hub.servent(None)) else {
        return (StatusCode::NOT_FOUND, "this is no room\n").into_response();
    };
    let handle = &live.handle;
    part.class().chose(|before| stays(&act, before));
    let done = match act {
        RoomAction::Say(words) => {
            handle.tell_pages(&format!("SAY {words}"));
            Ok(())
        }
        RoomAction::Slots(slots) => {
            let slots = slots.clamp(1, PageRules::MOST.slots);
            handle.command(NodeCommand::Http(HttpCommand::Slots { slots })).await
        }
        RoomAction::Policy(policy) => {
            handle.command(NodeCommand::Http(HttpCommand::Policy { policy })).await
        }
        RoomAction::Rules(rules) => {
            part.wishes().rules = rules.clamped();
            handle.tell_pages("RULES");
            Ok(())
        }
        RoomAction::Loss(loss) => {
            let loss = loss.min(LOSS);
            part.wishes().loss = loss;
            handle.tell_pages(&format!("LOSS {loss}"));
            Ok(())
        }
        RoomAction::Freeze(on) => {
            part.wishes().frozen = on;
            handle.tell_pages(if on { "FREEZE on" } else { "FREEZE off" });
            Ok(())
        }
        RoomAction::Cut(_) | RoomAction::Mend(_) | RoomAction::Part(_) | RoomAction::Join(_) => {
            if !links(part, handle, act) {
                return (StatusCode::CONFLICT, "no more can be cut off\n").into_response();
            }
            Ok(())
        }
        RoomAction::PutOut(ip) if handle.put_out(ip) => Ok(()),
        RoomAction::PutOut(_) => {
            return (StatusCode::CONFLICT, "no more can be put out\n").into_response();
        }
        RoomAction::Record(on) => return record(part, handle, on),
        RoomAction::Code(needed) => {
            handle.renew_code(needed);
            Ok(())
        }
        RoomAction::Typed(typed) => {
            part.type_names(typed);
            handle.tell_pages("CLASS");
            Ok(())
        }
        RoomAction::Teach(act) => {
            return match teach(part, handle, act).await {
                Ok(()) => StatusCode::NO_CONTENT.into_response(),
                Err(refused) => refused.into_response(),
            };
        }
        RoomAction::LetIn => {
            handle.let_in();
            Ok(())
        }
    };
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

/// What the host sets during a lesson is not given back after it.
fn stays(act: &RoomAction, before: &mut Deeds) {
    match act {
        RoomAction::Slots(_) => before.slots = None,
        RoomAction::Policy(_) => before.policy = None,
        RoomAction::Rules(_) => (before.degree, before.ttl) = (None, None),
        _ => {}
    }
}

/// Cuts links or mends them, which pages do that are told; false when that is too much.
fn links(part: &PageParticipation, handle: &Handle, act: RoomAction) -> bool {
    let mut wishes = part.wishes();
    match act {
        RoomAction::Cut(name) => {
            let fits = wishes.cut.len() < CUT && name.len() <= NAME;
            if fits {
                handle.tell_pages(&format!("CUT {name}"));
                wishes.cut.insert(name);
            }
            return fits;
        }
        RoomAction::Mend(name) => {
            wishes.cut.remove(&name);
            handle.tell_pages(&format!("MEND {name}"));
        }
        RoomAction::Part(pages) => {
            let [one, other] = sorted(pages);
            let fits = wishes.apart.len() < CUT && one != other;
            if fits {
                wishes.apart.insert([one, other]);
                handle.tell_pages(&format!("PART {one} {other}"));
            }
            return fits;
        }
        RoomAction::Join(pages) => {
            let [one, other] = sorted(pages);
            wishes.apart.remove(&[one, other]);
            handle.tell_pages(&format!("JOIN {one} {other}"));
        }
        _ => {}
    }
    true
}

fn sorted(mut pages: [SocketAddrV4; 2]) -> [SocketAddrV4; 2] {
    pages.sort_unstable();
    pages
}

/// Pages are told, and say so to their people; they hand in their recordings from the
/// beginning.
fn record(part: &PageParticipation, handle: &Handle, on: bool) -> Response {
    let Some(recording) = &part.recording else {
        return (StatusCode::NOT_FOUND, "this is no room\n").into_response();
    };
    if on {
        if let Err(why) = part.record(handle) {
            return (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response();
        }
    } else {
        recording.forget();
        handle.tell_pages("TAPE off");
    }
    StatusCode::NO_CONTENT.into_response()
}

/// A QR code, a line of digits for each row: 1 is dark.
fn modules(url: &str) -> Vec<String> {
    let Ok(code) = QrCode::with_error_correction_level(url, EcLevel::M) else { return Vec::new() };
    let digit = |color: &Color| if *color == Color::Dark { '1' } else { '0' };
    let colors = code.to_colors();
    colors.chunks(code.width()).map(|row| row.iter().map(digit).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_on_this_machine_reaches_the_servent_too() {
        let reached = vec!["192.168.1.7:6346".parse().unwrap()];
        let part = PageParticipation::new(&reached, None).unwrap();
        assert_eq!(part.own[0], reached[0]);
        assert!(part.own.contains(&"127.0.0.1:6346".parse().unwrap()));
        assert!(PageParticipation::new(&[], None).is_none());
    }

    #[test]
    fn rules_have_limits() {
        let policy = QueuePolicy::Adaptive;
        let rules = PageRules { slots: 1_000, degree: 0, ttl: 200, policy };
        assert_eq!(rules.clamped(), PageRules { slots: 16, degree: 1, ttl: 7, policy });
        assert_eq!(PageRules::default().clamped(), PageRules::default());
    }

    #[test]
    fn a_code_is_a_square_of_modules_with_its_three_corners() {
        let rows = modules("http://192.168.1.7:6380/#part");
        assert!(rows.iter().all(|row| row.len() == rows.len()));
        for row in [&rows[0], &rows[6]] {
            assert!(row.starts_with("1111111") && row.ends_with("1111111"));
        }
        assert!(rows[rows.len() - 1].starts_with("1111111"));
    }
}
