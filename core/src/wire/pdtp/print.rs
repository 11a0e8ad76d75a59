//! Prints messages.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::Serialize;

use super::{About, Completed, Extensions, Message, Method, Reason, Span, Transfer};

/// All arguments there are, in the order they are written. Those that a message
/// does not have are left out.
#[derive(Default, Serialize)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listen_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(rename = "chunkSize", skip_serializing_if = "Option::is_none")]
    chunk_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<SocketAddr>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    others: &'a [SocketAddr],
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorized: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash_ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_download: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_upload: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// On the wire both ends are inclusive.
#[derive(Serialize)]
struct Range {
    min: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
}

/// A message without the brackets of its frame: `"type",{arguments}`.
pub(super) fn message(message: &Message) -> String {
    let pair = serde_json::to_string(&parts(message)).expect("arguments are JSON");
    pair[1..pair.len() - 1].into()
}

fn parts(message: &Message) -> (&'static str, Args<'_>) {
    let args = Args::default();
    match message {
        Message::Register { client_id, listen_port, extensions } => {
            let client_id = Some(&**client_id);
            let extensions = names(*extensions);
            ("register", Args { client_id, listen_port: *listen_port, extensions, ..args })
        }
        Message::Extensions(extensions) => {
            ("extensions", Args { extensions: names(*extensions), ..args })
        }
        Message::AskInfo { url } => ("ask_info", Args { url: Some(url), ..args }),
        Message::TellInfo { url, size, chunk_size, streaming, sha256, gone, site } => {
            let (url, streaming) = (Some(&**url), streaming.then_some(true));
            let (size, chunk_size) = (*size, *chunk_size);
            let (sha256, gone) = (sha256.map(|hash| hash.to_string()), gone.as_deref());
            let (moved, others) = (site.moved, &site.others[..]);
            let told = Args { url, size, chunk_size, streaming, sha256, gone, ..args };
            ("tell_info", Args { moved, others, ..told })
        }
        Message::Request { url, span } => ("request", file(url, *span)),
        Message::Unrequest { url, span } => ("unrequest", file(url, *span)),
        Message::Provide { url, span } => ("provide", file(url, *span)),
        Message::Unprovide { url, span } => ("unprovide", file(url, *span)),
        Message::Transfer(it) => ("transfer", transfer(it)),
        Message::AskVerify(it) => ("ask_verify", about(it)),
        Message::TellVerify { about: it, authorized } => {
            ("tell_verify", Args { authorized: Some(*authorized), ..about(it) })
        }
        Message::Completed(it) => ("completed", completed(it)),
        Message::HashVerify { url, span, hash_ok } => {
            ("hash_verify", Args { hash_ok: Some(*hash_ok), ..file(url, *span) })
        }
        Message::ProtocolError { message } => {
            ("protocol_error", Args { message: Some(message), ..args })
        }
        Message::ChangePort { listen_port } => {
            ("change_port", Args { listen_port: *listen_port, ..args })
        }
        Message::SetConcurrency { max_download, max_upload } => {
            let (max_download, max_upload) = (*max_download, *max_upload);
            ("set_concurrency", Args { max_download, max_upload, ..args })
        }
        Message::Error { reason, message } => {
            ("error", Args { reason: Some(reason), message: Some(message), ..args })
        }
    }
}

fn names(extensions: Extensions) -> Option<Vec<&'static str>> {
    let names = [("merge", extensions.merge), ("early", extensions.early)];
    let names: Vec<_> = names.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect();
    (!names.is_empty()).then_some(names)
}

/// Without a range the whole file is meant.
fn file(url: &str, span: Span) -> Args<'_> {
    let range = Range { min: span.start, max: span.end.map(|end| end.saturating_sub(1)) };
    Args { url: Some(url), range: (span != Span::ALL).then_some(range), ..Args::default() }
}

fn about(it: &About) -> Args<'_> {
    Args { peer: Some(it.peer), peer_id: Some(&it.peer_id), ..file(&it.url, it.span) }
}

fn transfer(it: &Transfer) -> Args<'_> {
    let method = match it.method {
        Method::Get => "GET",
        Method::Put => "PUT",
    };
    let hash = it.hash.map(|hash| hash.to_string());
    Args { port: Some(it.port), method: Some(method), hash, ..about(&it.about) }
}

fn completed(it: &Completed) -> Args<'_> {
    let reason = it.reason.map(|reason| match reason {
        Reason::Connect => "connect",
        Reason::Data => "data",
        Reason::Hash => "hash",
    });
    let hash = it.hash.map(|hash| hash.to_string());
    Args { hash, offset: it.offset, reason, took: it.took, ..about(&it.about) }
}
