//! What a page needs to take part, and what the screen of a room shows.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use qrcode::{Color, EcLevel, QrCode};
use serde_json::{Value, json};

use super::Hub;

/// Places of the queue on the screen of a room.
const PLACES: u32 = 40;

/// Where pages take part.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The port at which the servent answers WebSockets.
    port: u16,
    /// Its addresses. A page reaches all of them by the one it came from.
    own: Vec<SocketAddr>,
    /// The address that people open, when this is a room.
    pub(crate) url: Option<String>,
}

impl Part {
    /// For a servent that is reached at these addresses; `None` without any.
    pub(crate) fn new(reached: &[SocketAddr], url: Option<String>) -> Option<Self> {
        let port = reached.first()?.port();
        let here = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let mut own = reached.to_vec();
        if !own.contains(&here) {
            own.push(here);
        }
        Some(Self { port, own, url })
    }
}

/// `GET /api/part`: for everybody who may open the page.
pub(super) async fn part(State(hub): State<Arc<Hub>>) -> Response {
    let Some(Part { port, own, url }) = &hub.part else {
        return (StatusCode::NOT_FOUND, "no page can take part here\n").into_response();
    };
    Json(json!({ "port": port, "own": own, "room": url.is_some() })).into_response()
}

/// `GET /api/room`: what the screen in front of the room shows.
pub(super) async fn room(State(hub): State<Arc<Hub>>) -> Response {
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
    Json(json!({ "url": part.url, "code": code, "people": people, "view": view })).into_response()
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
        let part = Part::new(&reached, None).unwrap();
        assert_eq!(part.own[0], reached[0]);
        assert!(part.own.contains(&"127.0.0.1:6346".parse().unwrap()));
        assert!(Part::new(&[], None).is_none());
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
