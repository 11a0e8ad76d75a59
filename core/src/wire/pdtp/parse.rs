//! Parses messages.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde_json::Value;

use super::{
    AgreedExtensions, Completed, Hash, MessageError, PdtpLimits, PdtpMessage, Reason,
    SiteAnnouncement, Span, Text, TransferKey, TransferMethod, TransferOrder,
};

type ParseResult<T> = Result<T, MessageError>;

pub(super) fn body(body: &[u8], limits: &PdtpLimits) -> ParseResult<Vec<PdtpMessage>> {
    let text = core::str::from_utf8(body).map_err(|_| MessageError::NotText)?;
    let tree = serde_json::from_str(text).map_err(|why| MessageError::NotJson(why.to_string()))?;
    let Value::Array(list) = tree else { return Err(MessageError::NotAMessage) };
    let (pairs, rest) = list.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return Err(MessageError::NotAMessage);
    }
    if pairs.len() > limits.messages as usize {
        return Err(MessageError::TooMany);
    }
    pairs.iter().map(|[name, args]| message(name, args, limits)).collect()
}

fn message(name: &Value, args: &Value, limits: &PdtpLimits) -> ParseResult<PdtpMessage> {
    let (Value::String(name), Value::Object(_)) = (name, args) else {
        return Err(MessageError::NotAMessage);
    };
    let args = |kind| ArgumentReader { kind, args, limits };
    Ok(match name.as_str() {
        "register" | "client_info" => {
            let args = args("register");
            let client_id = args.text("client_id", limits.id)?;
            if client_id.is_empty() {
                return Err(args.wrong("client_id"));
            }
            let listen_port = args.port("listen_port")?;
            PdtpMessage::Register { client_id, listen_port, extensions: args.extensions()? }
        }
        "extensions" => PdtpMessage::Extensions(args("extensions").extensions()?),
        "ask_info" => PdtpMessage::AskInfo { url: args("ask_info").url()? },
        "tell_info" => tell_info(&args("tell_info"))?,
        "request" => {
            args("request").file().map(|(url, span)| PdtpMessage::Request { url, span })?
        }
        "unrequest" => {
            args("unrequest").file().map(|(url, span)| PdtpMessage::Unrequest { url, span })?
        }
        "provide" => {
            args("provide").file().map(|(url, span)| PdtpMessage::Provide { url, span })?
        }
        "unprovide" => {
            args("unprovide").file().map(|(url, span)| PdtpMessage::Unprovide { url, span })?
        }
        "transfer" => PdtpMessage::Transfer(transfer(&args("transfer"))?),
        "ask_verify" => PdtpMessage::AskVerify(args("ask_verify").about()?),
        "tell_verify" => {
            let args = args("tell_verify");
            let authorized = match args.truth("authorized")? {
                None => args.truth("is_authorized")?,
                known => known,
            };
            let authorized = authorized.ok_or_else(|| args.missing("authorized"))?;
            PdtpMessage::TellVerify { about: args.about()?, authorized }
        }
        "completed" => PdtpMessage::Completed(completed(&args("completed"))?),
        "hash_verify" => {
            let args = args("hash_verify");
            let (url, span) = args.file()?;
            let hash_ok = args.truth("hash_ok")?.ok_or_else(|| args.missing("hash_ok"))?;
            PdtpMessage::HashVerify { url, span, hash_ok }
        }
        "protocol_error" => {
            PdtpMessage::ProtocolError { message: args("protocol_error").sentence("message") }
        }
        "change_port" => {
            PdtpMessage::ChangePort { listen_port: args("change_port").port("listen_port")? }
        }
        "set_concurrency" => {
            let args = args("set_concurrency");
            let max_download = args.count("max_download")?;
            PdtpMessage::SetConcurrency { max_download, max_upload: args.count("max_upload")? }
        }
        "error" => {
            let args = args("error");
            PdtpMessage::Error {
                reason: args.sentence("reason"),
                message: args.sentence("message"),
            }
        }
        other => return Err(MessageError::Unknown(cut(other, 60))),
    })
}

fn tell_info(args: &ArgumentReader<'_>) -> ParseResult<PdtpMessage> {
    let chunk_size = match args.number("chunkSize")? {
        None => args.number("chunk_size")?,
        known => known,
    };
    Ok(PdtpMessage::TellInfo {
        url: args.url()?,
        size: args.number("size")?,
        chunk_size,
        streaming: args.truth("streaming")?.unwrap_or(false),
        sha256: args.hash("sha256")?,
        gone: args.get("gone").map(|_| args.sentence("gone")),
        site: SiteAnnouncement { moved: args.moved()?, others: args.others()? },
    })
}

fn transfer(args: &ArgumentReader<'_>) -> ParseResult<TransferOrder> {
    let method = args.text("method", 8)?;
    let method = if method.eq_ignore_ascii_case("get") {
        TransferMethod::Get
    } else if method.eq_ignore_ascii_case("put") {
        TransferMethod::Put
    } else {
        return Err(args.wrong("method"));
    };
    let port = args.port("port")?.ok_or_else(|| args.missing("port"))?;
    Ok(TransferOrder { about: args.about()?, port, method, hash: args.hash("hash")? })
}

fn completed(args: &ArgumentReader<'_>) -> ParseResult<Completed> {
    let reason = match args.get("reason") {
        None => None,
        Some(Value::String(word)) => Some(match word.as_str() {
            "connect" => Reason::Connect,
            "data" => Reason::Data,
            "hash" => Reason::Hash,
            _ => return Err(args.wrong("reason")),
        }),
        Some(_) => return Err(args.wrong("reason")),
    };
    Ok(Completed {
        about: args.about()?,
        hash: args.hash("hash")?,
        offset: args.number("offset")?,
        reason,
        took: args.number("took")?,
    })
}

/// The arguments of a message.
#[derive(Clone, Copy)]
struct ArgumentReader<'a> {
    kind: &'static str,
    args: &'a Value,
    limits: &'a PdtpLimits,
}

impl<'a> ArgumentReader<'a> {
    const fn wrong(&self, name: &'static str) -> MessageError {
        MessageError::Wrong(self.kind, name)
    }
    const fn missing(&self, name: &'static str) -> MessageError {
        MessageError::Missing(self.kind, name)
    }

    /// An argument; `null` counts as missing.
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.args.get(name).filter(|value| **value != Value::Null)
    }

    fn text(&self, name: &'static str, most: u32) -> ParseResult<Text> {
        let value = self.get(name).ok_or_else(|| self.missing(name))?;
        let text = value.as_str().filter(|text| text.len() <= most as usize);
        text.map(Text::from).ok_or_else(|| self.wrong(name))
    }

    fn url(&self) -> ParseResult<Text> {
        let url = self.text("url", self.limits.url)?;
        if url.is_empty() { Err(self.wrong("url")) } else { Ok(url) }
    }

    /// A sentence for people; anything else than text does no harm.
    fn sentence(&self, name: &str) -> String {
        let text = self.get(name).and_then(Value::as_str).unwrap_or_default();
        cut(text, self.limits.sentence as usize)
    }

    fn number(&self, name: &'static str) -> ParseResult<Option<u64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| self.wrong(name))
    }

    fn count(&self, name: &'static str) -> ParseResult<Option<u32>> {
        let number = self.number(name)?.map(u32::try_from).transpose();
        number.map_err(|_| self.wrong(name))
    }

    /// A port; 0 counts as missing.
    fn port(&self, name: &'static str) -> ParseResult<Option<u16>> {
        let number = self.number(name)?.map(u16::try_from).transpose();
        Ok(number.map_err(|_| self.wrong(name))?.filter(|port| *port != 0))
    }

    fn truth(&self, name: &'static str) -> ParseResult<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(_) => Err(self.wrong(name)),
        }
    }

    fn hash(&self, name: &'static str) -> ParseResult<Option<Hash>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().and_then(Hash::parse).map(Some).ok_or_else(|| self.wrong(name))
    }

    fn span(&self) -> ParseResult<Span> {
        let Some(range) = self.get("range") else { return Ok(Span::ALL) };
        let range = ArgumentReader { args: range, ..*self };
        let wrong = || self.wrong("range");
        if !matches!(range.args, Value::Object(_)) {
            return Err(wrong());
        }
        let start = range.number("min").map_err(|_| wrong())?.unwrap_or(0);
        let Some(last) = range.number("max").map_err(|_| wrong())? else {
            return Ok(Span { start, end: None });
        };
        let end = last.checked_add(1).filter(|end| *end > start).ok_or_else(wrong)?;
        Ok(Span::new(start, end))
    }

    fn file(&self) -> ParseResult<(Text, Span)> {
        Ok((self.url()?, self.span()?))
    }

    fn about(&self) -> ParseResult<TransferKey> {
        let name = if self.get("peer").is_some() { "peer" } else { "host" };
        let peer = self.text(name, 64)?.parse().map_err(|_| self.wrong("peer"))?;
        let (url, span) = self.file()?;
        Ok(TransferKey { peer, url, span, peer_id: self.text("peer_id", self.limits.id)? })
    }

    /// The address of another coordinator.
    fn moved(&self) -> ParseResult<Option<SocketAddr>> {
        let Some(at) = self.get("moved") else { return Ok(None) };
        address(at).map(Some).ok_or_else(|| self.wrong("moved"))
    }

    /// The addresses of other coordinators.
    fn others(&self) -> ParseResult<Vec<SocketAddr>> {
        let Some(list) = self.get("others") else { return Ok(Vec::new()) };
        let list = list.as_array().ok_or_else(|| self.wrong("others"))?;
        let all = list.iter().take(self.limits.others as usize);
        all.map(|at| address(at).ok_or_else(|| self.wrong("others"))).collect()
    }

    /// Unknown names belong to later versions and are ignored.
    fn extensions(&self) -> ParseResult<AgreedExtensions> {
        let mut extensions = AgreedExtensions::default();
        match self.get("extensions") {
            None => {}
            Some(Value::Array(names)) => {
                for name in names {
                    match name.as_str() {
                        Some("merge") => extensions.merge = true,
                        Some("early") => extensions.early = true,
                        _ => {}
                    }
                }
            }
            Some(_) => return Err(self.wrong("extensions")),
        }
        Ok(extensions)
    }
}

/// An address and a port that can be connected to.
fn address(value: &Value) -> Option<SocketAddr> {
    let at: SocketAddr = value.as_str()?.parse().ok()?;
    (at.port() != 0).then_some(at)
}

/// A text cut to at most `most` bytes, at a character boundary.
fn cut(text: &str, most: usize) -> String {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default().into()
}
