//! Browse host: lists everything that one servent shares, as a list of query
//! hits, the way deployed servents do.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, UPGRADE, USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use servent_core::node::SearchHit;
use servent_core::text::Shown;
use servent_core::wire::gnutella::{
    self, FrameLimits, Framer, MessageBody, OverlayMessage, OverlayPayload, fold,
};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::last::NumberedHits;
use super::{HitRoute, SEARCH, SearchArgs, line, locator, peers};
use crate::cli::print;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::Voice;

/// The media type of such a list.
const PACKETS: &str = "application/x-gnutella-packets";
/// The longest list in bytes; no real list is longer.
const MOST: u64 = 256 << 20;
/// The longest message in bytes.
const MESSAGE: u32 = 256 * 1024;
/// How long to wait for more data before giving up.
const SILENCE: Duration = Duration::from_secs(30);

/// Prints what the servent `name` shares, restricted to entries with all
/// `words`.
pub(super) async fn browse(
    agent: &str,
    arguments: &SearchArgs,
    (name, mut hits): (&str, NumberedHits),
    voice: Voice,
) -> Result<(), Failure> {
    let names = [name.to_owned()];
    let at = *peers(&names).await?.first().ok_or_else(|| broken(name, "it has no address"))?;
    let mut response = ask(agent, name, at).await?;
    check(name, &response)?;
    let words: Vec<String> = arguments.words.iter().map(|word| fold(word)).collect();
    let mut framer = Framer::new(FrameLimits { payload: MESSAGE });
    let (mut files, mut bytes) = (0_u64, 0);
    loop {
        let frame = timeout(SILENCE, response.body_mut().frame()).await;
        let frame = frame.map_err(|_| broken(name, "it says nothing more"))?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|why| broken(name, &why.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        bytes += data.len() as u64;
        if bytes > MOST {
            return Err(broken(name, "its list has no end"));
        }
        framer.push(OverlayPayload::from(data));
        let wrong = |_| broken(name, "what it sends is no list of files");
        while let Some(frame) = framer.next_frame().map_err(wrong)? {
            let Ok(OverlayMessage { body: MessageBody::Hit(hit), .. }) =
                OverlayMessage::parse(frame)
            else {
                continue;
            };
            for file in found(&hit, at) {
                let folded = fold(&file.name);
                if words.iter().all(|word| folded.contains(word.as_str())) {
                    files += 1;
                    let number = hits.add(&locator(&file, None))?;
                    print(line(number, &file, &HitRoute::default(), voice))?;
                }
            }
        }
    }
    match (files, words.is_empty()) {
        (0, true) => Err(Failure::new(Exit::Failed, format!("{name} shares nothing"))),
        (0, false) => Err(Failure::new(Exit::Failed, format!("{name} shares no such file"))
            .next("leave the words out to see everything it shares")),
        _ => Ok(()),
    }
}

/// Requests the list.
async fn ask(agent: &str, name: &str, at: SocketAddr) -> Result<Response<Incoming>, Failure> {
    let stream = timeout(SILENCE, TcpStream::connect(at)).await;
    let stream = stream.map_err(|_| unreachable_peer(name, "no answer"))?;
    let stream = stream.map_err(|why| unreachable_peer(name, &error_text(&why)))?;
    let lost = |why: hyper::Error| broken(name, &why.to_string());
    let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = made.map_err(lost)?;
    // Ends with the body, or when the response is dropped.
    tokio::spawn(connection);
    let request = Request::get("/")
        .header(HOST, name)
        .header(USER_AGENT, agent)
        .header(ACCEPT, PACKETS)
        .header(CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|why| Failure::usage(format!("{name}: {why}")))?;
    let response = timeout(SILENCE, sender.send_request(request)).await;
    response.map_err(|_| broken(name, "it does not answer"))?.map_err(lost)
}

/// An error unless the response is such a list.
fn check(name: &str, response: &Response<Incoming>) -> Result<(), Failure> {
    let status = response.status();
    if status == StatusCode::BAD_REQUEST && response.headers().contains_key(UPGRADE) {
        return Err(broken(name, "it speaks TLS, and what it shares is browsed without")
            .next("open https:// and its address in a web browser, or `servent get` that"));
    }
    if status != StatusCode::OK {
        return Err(broken(name, &format!("it answers {status}")));
    }
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let kind = header(CONTENT_TYPE).unwrap_or("nothing it has a name for");
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(PACKETS)) {
        return Err(broken(
            name,
            &format!("it answers with {}, which is no list of files", Shown(kind)),
        )
        .next("open it in a web browser instead"));
    }
    match header(CONTENT_ENCODING).filter(|coding| !coding.eq_ignore_ascii_case("identity")) {
        Some(coding) => Err(broken(name, &format!("it packs its list as {}", Shown(coding)))),
        None => Ok(()),
    }
}

/// The files of one message. The servent was just reached at `at`, so that
/// address is used, whatever it says its own is.
fn found(hit: &gnutella::QueryHit, at: SocketAddr) -> impl Iterator<Item = SearchHit> {
    let busy = hit.quality().busy == Some(true);
    hit.results().map(move |file| SearchHit {
        search: SEARCH,
        at,
        index: file.index,
        name: file.path(),
        size: file.size,
        sha1: file.sha1(),
        servent: hit.servent(),
        push: false,
        busy,
        hops: 0,
        from: at.ip(),
        through: Some(at),
        proxies: Vec::new(),
    })
}

fn unreachable_peer(name: &str, why: &str) -> Failure {
    Failure::new(Exit::Network, format!("cannot reach {name}: {why}"))
        .next("check that a servent runs there")
}

fn broken(name: &str, why: &str) -> Failure {
    Failure::new(Exit::Network, format!("cannot look through {name}: {why}"))
}
