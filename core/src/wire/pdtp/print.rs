//! Prints messages.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::Serialize;

use super::{
    AgreedExtensions, Completed, PdtpMessage, Reason, Span, TransferKey, TransferMethod,
    TransferOrder,
};

/// All arguments there are, in the order they are written. Those that a message
/// does not have are left out.
#[derive(Default, Serialize)]
struct PrintedArguments<'a> {
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
    range: Option<InclusiveRange>,
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
struct InclusiveRange {
    min: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
}

/// A message without the brackets of its frame: `"type",{arguments}`.
pub(super) fn message(message: &PdtpMessage) -> String {
    let pair = serde_json::to_string(&parts(message)).expect("arguments are JSON");
    pair[1..pair.len() - 1].into()
}

fn parts(message: &PdtpMessage) -> (&'static str, PrintedArguments<'_>) {
    let args = PrintedArguments::default();
    match message {
        PdtpMessage::Register { client_id, listen_port, extensions } => {
            let client_id = Some(&**client_id);
            let extensions = names(*extensions);
            (
                "register",
                PrintedArguments { client_id, listen_port: *listen_port, extensions, ..args },
            )
        }
        PdtpMessage::Extensions(extensions) => {
            ("extensions", PrintedArguments { extensions: names(*extensions), ..args })
        }
        PdtpMessage::AskInfo { url } => ("ask_info", PrintedArguments { url: Some(url), ..args }),
        PdtpMessage::TellInfo { url, size, chunk_size, streaming, sha256, gone, site } => {
            let (url, streaming) = (Some(&**url), streaming.then_some(true));
            let (size, chunk_size) = (*size, *chunk_size);
            let (sha256, gone) = (sha256.map(|hash| hash.to_string()), gone.as_deref());
            let (moved, others) = (site.moved, &site.others[..]);
            let told = PrintedArguments { url, size, chunk_size, streaming, sha256, gone, ..args };
            ("tell_info", PrintedArguments { moved, others, ..told })
        }
        PdtpMessage::Request { url, span } => ("request", file(url, *span)),
        PdtpMessage::Unrequest { url, span } => ("unrequest", file(url, *span)),
        PdtpMessage::Provide { url, span } => ("provide", file(url, *span)),
        PdtpMessage::Unprovide { url, span } => ("unprovide", file(url, *span)),
        PdtpMessage::Transfer(it) => ("transfer", transfer(it)),
        PdtpMessage::AskVerify(it) => ("ask_verify", about(it)),
        PdtpMessage::TellVerify { about: it, authorized } => {
            ("tell_verify", PrintedArguments { authorized: Some(*authorized), ..about(it) })
        }
        PdtpMessage::Completed(it) => ("completed", completed(it)),
        PdtpMessage::HashVerify { url, span, hash_ok } => {
            ("hash_verify", PrintedArguments { hash_ok: Some(*hash_ok), ..file(url, *span) })
        }
        PdtpMessage::ProtocolError { message } => {
            ("protocol_error", PrintedArguments { message: Some(message), ..args })
        }
        PdtpMessage::ChangePort { listen_port } => {
            ("change_port", PrintedArguments { listen_port: *listen_port, ..args })
        }
        PdtpMessage::SetConcurrency { max_download, max_upload } => {
            let (max_download, max_upload) = (*max_download, *max_upload);
            ("set_concurrency", PrintedArguments { max_download, max_upload, ..args })
        }
        PdtpMessage::Error { reason, message } => {
            ("error", PrintedArguments { reason: Some(reason), message: Some(message), ..args })
        }
    }
}

fn names(extensions: AgreedExtensions) -> Option<Vec<&'static str>> {
    let names = [("merge", extensions.merge), ("early", extensions.early)];
    let names: Vec<_> = names.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect();
    (!names.is_empty()).then_some(names)
}

/// Without a range the whole file is meant.
fn file(url: &str, span: Span) -> PrintedArguments<'_> {
    let range = InclusiveRange { min: span.start, max: span.end.map(|end| end.saturating_sub(1)) };
    PrintedArguments {
        url: Some(url),
        range: (span != Span::ALL).then_some(range),
        ..PrintedArguments::default()
    }
}

fn about(it: &TransferKey) -> PrintedArguments<'_> {
    PrintedArguments { peer: Some(it.peer), peer_id: Some(&it.peer_id), ..file(&it.url, it.span) }
}

fn transfer(it: &TransferOrder) -> PrintedArguments<'_> {
    let method = match it.method {
        TransferMethod::Get => "GET",
        TransferMethod::Put => "PUT",
    };
    let hash = it.hash.map(|hash| hash.to_string());
    PrintedArguments { port: Some(it.port), method: Some(method), hash, ..about(&it.about) }
}

fn completed(it: &Completed) -> PrintedArguments<'_> {
    let reason = it.reason.map(|reason| match reason {
        Reason::Connect => "connect",
        Reason::Data => "data",
        Reason::Hash => "hash",
    });
    let hash = it.hash.map(|hash| hash.to_string());
    PrintedArguments { hash, offset: it.offset, reason, took: it.took, ..about(&it.about) }
}
