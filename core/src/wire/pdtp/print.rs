//! From messages to text.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{About, Completed, Extensions, Message, Method, Reason, Span, Transfer};
use crate::json::Json;

/// The arguments of a message, in the order in which they are written.
#[derive(Default)]
struct Args(Vec<(String, Json)>);

impl Args {
    fn put(mut self, name: &str, value: Json) -> Self {
        self.0.push((name.into(), value));
        self
    }
    fn text(self, name: &str, text: &str) -> Self {
        self.put(name, Json::Text(text.into()))
    }
    fn number(self, name: &str, number: Option<u64>) -> Self {
        match number {
            Some(number) => self.put(name, Json::Whole(number)),
            None => self,
        }
    }
    fn maybe(self, name: &str, text: Option<String>) -> Self {
        match text {
            Some(text) => self.put(name, Json::Text(text)),
            None => self,
        }
    }
    /// The whole of a file is what is meant without a range.
    fn span(self, span: Span) -> Self {
        if span == Span::ALL {
            return self;
        }
        let range = Args::default()
            .number("min", Some(span.start))
            .number("max", span.end.map(|end| end.saturating_sub(1)));
        self.put("range", Json::Object(range.0))
    }
    fn about(self, about: &About) -> Self {
        self.text("peer", &about.peer.to_string())
            .text("url", &about.url)
            .span(about.span)
            .text("peer_id", &about.peer_id)
    }
    fn extensions(self, extensions: Extensions) -> Self {
        let names = [("merge", extensions.merge), ("early", extensions.early)];
        let names: Vec<Json> = names
            .iter()
            .filter(|(_, on)| *on)
            .map(|(name, _)| Json::Text((*name).into()))
            .collect();
        if names.is_empty() { self } else { self.put("extensions", Json::List(names)) }
    }
}

/// A message without the brackets of its frame: `"type",{arguments}`.
pub(super) fn message(message: &Message) -> String {
    let (name, args) = parts(message);
    let mut text = Json::Text(name.into()).print();
    text.push(',');
    text.push_str(&Json::Object(args.0).print());
    text
}

fn parts(message: &Message) -> (&'static str, Args) {
    let args = Args::default();
    let file = |url: &str, span: Span| Args::default().text("url", url).span(span);
    match message {
        Message::Register { client_id, listen_port, extensions } => (
            "register",
            args.text("client_id", client_id)
                .number("listen_port", listen_port.map(u64::from))
                .extensions(*extensions),
        ),
        Message::Extensions(extensions) => ("extensions", args.extensions(*extensions)),
        Message::AskInfo { url } => ("ask_info", args.text("url", url)),
        Message::TellInfo { url, size, chunk_size, streaming } => {
            let args = args.text("url", url).number("size", *size).number("chunkSize", *chunk_size);
            ("tell_info", if *streaming { args.put("streaming", Json::Bool(true)) } else { args })
        }
        Message::Request { url, span } => ("request", file(url, *span)),
        Message::Unrequest { url, span } => ("unrequest", file(url, *span)),
        Message::Provide { url, span } => ("provide", file(url, *span)),
        Message::Unprovide { url, span } => ("unprovide", file(url, *span)),
        Message::Transfer(it) => ("transfer", transfer(it)),
        Message::AskVerify(about) => ("ask_verify", args.about(about)),
        Message::TellVerify { about, authorized } => {
            ("tell_verify", args.about(about).put("authorized", Json::Bool(*authorized)))
        }
        Message::Completed(it) => ("completed", completed(it)),
        Message::HashVerify { url, span, hash_ok } => {
            ("hash_verify", file(url, *span).put("hash_ok", Json::Bool(*hash_ok)))
        }
        Message::ProtocolError { message } => ("protocol_error", args.text("message", message)),
        Message::ChangePort { listen_port } => {
            ("change_port", args.number("listen_port", listen_port.map(u64::from)))
        }
        Message::SetConcurrency { max_download, max_upload } => (
            "set_concurrency",
            args.number("max_download", max_download.map(u64::from))
                .number("max_upload", max_upload.map(u64::from)),
        ),
        Message::Error { reason, message } => {
            ("error", args.text("reason", reason).text("message", message))
        }
    }
}

fn transfer(it: &Transfer) -> Args {
    let method = match it.method {
        Method::Get => "GET",
        Method::Put => "PUT",
    };
    Args::default()
        .about(&it.about)
        .number("port", Some(it.port.into()))
        .text("method", method)
        .maybe("hash", it.hash.map(|hash| hash.to_string()))
}

fn completed(it: &Completed) -> Args {
    let reason = it.reason.map(|reason| match reason {
        Reason::Connect => "connect",
        Reason::Data => "data",
        Reason::Hash => "hash",
    });
    Args::default()
        .about(&it.about)
        .maybe("hash", it.hash.map(|hash| hash.to_string()))
        .number("offset", it.offset)
        .maybe("reason", reason.map(Into::into))
        .number("took", it.took)
}
