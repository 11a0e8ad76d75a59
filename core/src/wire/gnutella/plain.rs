//! Messages without their extension blocks, for servents that did not announce
//! support for them.

use alloc::vec::Vec;

use super::hit::{GGEP_FLAG, TRAILER_FLAGS, private_blocks};
use super::query::Extension;
use super::{MessageBody, OverlayMessage, OverlayPayload, Query, QueryHit};

/// The separator of extensions.
const SEPARATOR: u8 = 0x1c;

impl OverlayMessage {
    /// A copy without extension blocks; `None` when there are none.
    #[must_use]
    pub fn without_ggep(&self) -> Option<Self> {
        let emptied = |ggep: &OverlayPayload| (!ggep.is_empty()).then(OverlayPayload::new);
        let body = match &self.body {
            MessageBody::Ping(ping) => {
                MessageBody::Ping(super::Ping { ggep: emptied(&ping.ggep)? })
            }
            MessageBody::Pong(pong) => {
                MessageBody::Pong(super::Pong { ggep: emptied(&pong.ggep)?, ..pong.clone() })
            }
            MessageBody::Push(push) => {
                MessageBody::Push(super::Push { ggep: emptied(&push.ggep)?, ..push.clone() })
            }
            MessageBody::Query(query) => MessageBody::Query(plain_query(query)?),
            MessageBody::Hit(hit) => MessageBody::Hit(plain_hit(hit)?),
            MessageBody::Bye(_) | MessageBody::Qrp(_) | MessageBody::Vendor(_) => return None,
        };
        Some(Self { body, ..*self })
    }
}

fn plain_query(query: &Query) -> Option<Query> {
    let texts = texts(query.extensions())?;
    let before = query.payload().len() - query.extension_area().len();
    let mut payload = query.payload()[..before].to_vec();
    payload.extend_from_slice(&texts);
    if !texts.is_empty() {
        payload.push(0);
    }
    Query::parse(payload.into()).ok()
}

fn plain_hit(hit: &QueryHit) -> Option<QueryHit> {
    let payload = hit.payload();
    let mut out = payload[..11].to_vec();
    let mut changed = false;
    for found in hit.results() {
        // The size in the result itself, not the one in a block.
        let small = u32::try_from(found.size).unwrap_or(u32::MAX);
        out.extend_from_slice(&found.index.0.to_le_bytes());
        out.extend_from_slice(&small.to_le_bytes());
        out.extend_from_slice(found.name);
        out.push(0);
        match texts(found.extensions()) {
            Some(texts) => {
                changed = true;
                out.extend_from_slice(&texts);
            }
            None => out.extend_from_slice(found.extension_area()),
        }
        out.push(0);
    }
    let trailer = hit.trailer();
    match plain_trailer(trailer) {
        Some(plain) => {
            changed = true;
            out.extend_from_slice(&plain);
        }
        None => out.extend_from_slice(trailer),
    }
    out.extend_from_slice(&hit.servent().0);
    changed.then(|| QueryHit::parse(out.into()).ok()).flatten()
}

/// The trailer without the blocks in its private area; `None` when the flags
/// say that there are none, or they cannot be found.
fn plain_trailer(trailer: &[u8]) -> Option<Vec<u8>> {
    let (_, (at, used)) = private_blocks(trailer)?;
    let mut plain = trailer[..at].to_vec();
    plain.extend_from_slice(&trailer[at + used..]);
    plain[TRAILER_FLAGS + 1] &= !GGEP_FLAG;
    Some(plain)
}

/// The extensions that are not blocks, separated as before; `None` when there
/// are none.
fn texts(extensions: super::QueryExtensions<'_>) -> Option<Vec<u8>> {
    let (mut texts, mut blocks) = (Vec::new(), false);
    for extension in extensions {
        match extension {
            Extension::Ggep(_) => blocks = true,
            Extension::Text(text) => {
                if !texts.is_empty() {
                    texts.push(SEPARATOR);
                }
                texts.extend_from_slice(text);
            }
        }
    }
    blocks.then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::super::{HitBuilder, Quality, Wishes, ggep};
    use super::*;
    use crate::id::{FileIndex, Guid, Sha1};

    fn blocks(out: &mut Vec<u8>) {
        ggep::write(&[ggep::GgepBlock::new(b"X", b"what \0 ever")], true, out);
    }

    fn message(body: MessageBody) -> OverlayMessage {
        OverlayMessage { guid: Guid([7; 16]), ttl: 3, hops: 2, body }
    }

    #[test]
    fn a_query_keeps_its_words_and_its_hashes() {
        let plain = Query::new(Wishes::default(), "some words", &[Sha1([3; 20])]);
        assert_eq!(message(MessageBody::Query(plain.clone())).without_ggep(), None);
        let mut payload = plain.payload().to_vec();
        payload.pop();
        payload.push(SEPARATOR);
        blocks(&mut payload);
        payload.push(0);
        let query = Query::parse(payload.into()).unwrap();
        let bare = message(MessageBody::Query(query)).without_ggep().unwrap();
        assert_eq!(bare, message(MessageBody::Query(plain)));
        let mut payload = Query::new(Wishes::default(), "words", &[]).payload().to_vec();
        blocks(&mut payload);
        let only = message(MessageBody::Query(Query::parse(payload.into()).unwrap()));
        let words = Query::new(Wishes::default(), "words", &[]);
        assert_eq!(only.without_ggep().unwrap().body, MessageBody::Query(words));
    }

    #[test]
    fn a_hit_keeps_its_results_and_what_else_it_says() {
        let at = core::net::SocketAddrV4::new([80, 1, 1, 1].into(), 6_346);
        let quality = Quality { push: Some(true), busy: Some(true), uploaded: None };
        let mut built = HitBuilder::new(at, 1, (*b"TEST", quality), Guid([9; 16]), 4_096);
        assert!(built.add(FileIndex(1), 10, "small", Some(Sha1([1; 20]))));
        assert!(built.add(FileIndex(2), 5 << 32, "large", Some(Sha1([2; 20]))));
        let hit = built.finish().unwrap();
        let bare = message(MessageBody::Hit(hit.clone())).without_ggep().unwrap();
        assert_eq!(bare.without_ggep(), None);
        let MessageBody::Hit(bare) = bare.body else { unreachable!() };
        assert_eq!((bare.quality(), bare.servent(), bare.at()), (quality, Guid([9; 16]), at));
        let told = |hit: &QueryHit| -> Vec<_> {
            hit.results().map(|f| (f.index, f.name.to_vec(), f.sha1())).collect()
        };
        assert_eq!(told(&bare), told(&hit));
        assert_eq!(bare.results().nth(1).unwrap().size, u64::from(u32::MAX));
    }

    #[test]
    fn blocks_in_the_private_area_go_too() {
        let at = core::net::SocketAddrV4::new([80, 1, 1, 1].into(), 6_346);
        let quality = Quality { busy: Some(true), ..Quality::default() };
        let mut built = HitBuilder::new(at, 1, (*b"TEST", quality), Guid([9; 16]), 4_096);
        assert!(built.add(FileIndex(1), 10, "small", None));
        let hit = built.finish().unwrap();
        let mut payload = hit.payload().to_vec();
        let id = payload.split_off(payload.len() - 16);
        let flags = payload.len() - 2;
        payload[flags] |= GGEP_FLAG;
        payload[flags + 1] |= GGEP_FLAG;
        payload.extend_from_slice(b"xml");
        blocks(&mut payload);
        payload.extend_from_slice(&id);
        let with = message(MessageBody::Hit(QueryHit::parse(payload.into()).unwrap()));
        let MessageBody::Hit(bare) = with.without_ggep().unwrap().body else { unreachable!() };
        assert_eq!((bare.quality(), bare.result_set()), (quality, hit.result_set()));
        assert!(bare.trailer().ends_with(b"xml"));
    }

    #[test]
    fn the_rest_is_emptied_or_has_none() {
        let ggep = OverlayPayload::from_static(b"\xc3rest");
        let ping = message(MessageBody::Ping(super::super::Ping { ggep }));
        assert!(ping.without_ggep().unwrap().body.len() == 0);
        assert_eq!(ping.without_ggep().unwrap().without_ggep(), None);
    }
}
