//! The bytes of the overlay: known messages, whatever can be written, and
//! whatever else may come.

use std::net::SocketAddrV4;

use proptest::prelude::*;
use servent_core::id::{FileIndex, Guid, Sha1};
use servent_core::wire::gnutella::{
    Bye, Compressor, Extension, FrameLimits, Framer, HitBuilder, Keywords, KeywordsError,
    KeywordsLimits, MessageBody, MessageFrameError, MessageKind, OverlayMessage, OverlayPayload,
    PayloadError, Ping, Pong, Push, Qrp, Quality, Query, QueryHit, Vendor, Wishes, code, ggep,
    keyword_hash,
};

const LIMITS: FrameLimits = FrameLimits { payload: 65_536 };

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn at(text: &str) -> SocketAddrV4 {
    text.parse().unwrap()
}

fn all(bytes: &[u8]) -> Vec<OverlayMessage> {
    let mut framer = Framer::new(LIMITS);
    framer.push(OverlayPayload::copy_from_slice(bytes));
    let mut out = Vec::new();
    while let Some(frame) = framer.next_frame().expect("a readable stream") {
        out.push(OverlayMessage::parse(frame).expect("a readable payload"));
    }
    assert_eq!(framer.unfinished(), 0);
    out
}

/// The only message in there, which is written again as it came.
fn one(bytes: &[u8]) -> OverlayMessage {
    let mut messages = all(bytes);
    assert_eq!(messages.len(), 1);
    let message = messages.remove(0);
    assert_eq!(message.to_bytes(), bytes);
    assert_eq!(message.len(), bytes.len());
    assert_eq!(message.detached(), message);
    message
}

#[test]
fn a_known_ping_and_its_pong() {
    let ping = one(&hex("df911f0151f9ef02ff410b4be5060900 00 07 00 00000000"));
    assert_eq!((ping.kind(), ping.ttl, ping.hops), (MessageKind::Ping, 7, 0));
    let pong = one(&hex(
        "df911f0151f9ef02ff410b4be5060900 01 07 00 0e000000 ca18 d0113204 0c000000 800d0000",
    ));
    assert_eq!(pong.guid, ping.guid);
    let MessageBody::Pong(pong) = pong.body else { panic!("a pong") };
    assert_eq!((pong.at, pong.files, pong.kilobytes), (at("208.17.50.4:6346"), 12, 3_456));
}

#[test]
fn a_known_query_and_its_hit() {
    let query =
        one(&hex("1b1cc7f086b3f074ff452bc312998100 80 07 00 14000000 0000 676e7574656c6c61 20 \
         70726f746f636f6c 00"));
    let guid = query.guid;
    let MessageBody::Query(query) = query.body else { panic!("a query") };
    assert_eq!((query.criteria(), query.wishes()), (&b"gnutella protocol"[..], None));
    assert_eq!(query.extensions().next(), None);
    let hit =
        one(&hex("1b1cc7f086b3f074ff452bc312998100 81 05 00 2f000000 01 ca18 0a010203 5e010000 \
         a4090000 b57a4200 466f6f6261722e6d7033 00 00 b477bae52c1b3ea2ff653aa0187dd900"));
    assert_eq!(hit.guid, guid);
    let MessageBody::Hit(hit) = hit.body else { panic!("a hit") };
    assert_eq!((hit.count(), hit.at()), (1, at("10.1.2.3:6346")));
    assert_eq!(hit.servent().to_string(), "b477bae52c1b3ea2ff653aa0187dd900");
    let found: Vec<_> = hit.results().collect();
    assert_eq!((found[0].index, found[0].size), (FileIndex(2_468), 4_356_789));
    assert_eq!((found[0].name, found[0].sha1()), (&b"Foobar.mp3"[..], None));
    assert_eq!((hit.vendor(), hit.quality()), (None, Quality::default()));
}

#[test]
fn a_known_push_and_bye() {
    let push = one(&hex("21a361d96e3e13f5ff09748c2a9d2400 40 07 00 1a000000 \
         b477bae52c1b3ea2ff653aa0187dd900 a4090000 7f000001 ce18"));
    let MessageBody::Push(push) = push.body else { panic!("a push") };
    assert_eq!((push.index, push.at), (FileIndex(2_468), at("127.0.0.1:6350")));
    let bye = one(&hex("bfa99df33b137bc8ff5f5407d7e58d00 02 01 00 21000000 c800 \
         5368757474696e6720646f776e0d0a5365727665723a20782f310d0a0d0a 00"));
    let MessageBody::Bye(bye) = bye.body else { panic!("a bye") };
    assert_eq!(bye.code, code::EXIT);
    assert!(bye.text.starts_with("Shutting down\r\nServer"), "{}", bye.text);
}

#[test]
fn keywords_hash_to_the_known_numbers() {
    for (word, bits, wanted) in [
        ("eb", 13, 6_791),
        ("ebckl", 13, 3_179),
        ("n", 16, 65_003),
        ("ndflal", 16, 36_910),
        ("3nja9", 10, 581),
        ("zzzzzzzzzzz", 10, 944),
        ("", 13, 0),
    ] {
        assert_eq!(keyword_hash(word.as_bytes(), bits), wanted, "{word}/{bits}");
        assert_eq!(keyword_hash(word.to_uppercase().as_bytes(), bits), wanted);
    }
}

#[test]
fn a_keyword_table_travels_whole() {
    let mut ours = Keywords::new(16);
    for n in 0..3_000 {
        ours.add(&format!("Some long File{n} of name{}.mp3", n * 7));
    }
    let mut theirs = None;
    let messages = ours.messages();
    assert!(messages.len() > 2, "several parts");
    for message in messages {
        let message = OverlayMessage {
            guid: Guid([7; 16]),
            ttl: 1,
            hops: 0,
            body: MessageBody::Qrp(message),
        };
        match one(&message.to_bytes()).body {
            MessageBody::Qrp(Qrp::Reset { length, infinity }) => {
                assert_eq!((length, infinity), (65_536, 7));
                theirs =
                    Some(Keywords::reset(length, KeywordsLimits { entries: 1 << 20 }).unwrap());
            }
            MessageBody::Qrp(Qrp::Patch { seq, count, compressor, bits, data }) => {
                let table = theirs.as_mut().expect("after the reset");
                assert_eq!(table.patch((seq, count), compressor, bits, &data), Ok(seq == count));
            }
            other => panic!("{other:?}"),
        }
    }
    let theirs = theirs.expect("a table");
    assert!(theirs.is_whole());
    assert_eq!(theirs.filled(), ours.filled());
    assert!(theirs.could_match("file17 LONG") && theirs.could_match("fil some"));
    assert!(!theirs.could_match("unheard unwritten unsung untold unseen"));
}

#[test]
fn a_keyword_patch_has_its_bounds() {
    let limits = KeywordsLimits { entries: 1 << 16 };
    assert_eq!(Keywords::reset(1 << 17, limits), Err(KeywordsError::Size(1 << 17)));
    assert_eq!(Keywords::reset(1_000, limits), Err(KeywordsError::Size(1_000)));
    let mut table = Keywords::reset(1 << 10, limits).unwrap();
    let out_of_turn = table.patch((2, 3), Compressor::None, 8, &[1]);
    assert_eq!(out_of_turn, Err(KeywordsError::Patch));
    let bomb = miniz_bomb(1 << 20);
    assert_eq!(table.patch((1, 1), Compressor::Zlib, 8, &bomb), Err(KeywordsError::Packing));
    assert_eq!(table.patch((1, 1), Compressor::None, 8, &[1; 1_025]), Err(KeywordsError::Patch));
    // Eight bits an entry: the third entry is set, then cleared again.
    assert_eq!(table.patch((1, 1), Compressor::None, 8, &[0, 0, 0xfa]), Ok(true));
    assert_eq!(table.filled(), (1, 1_024));
    assert_eq!(table.patch((1, 1), Compressor::None, 8, &[0, 0, 6]), Ok(true));
    assert_eq!(table.filled(), (0, 1_024));
}

/// Zeros, packed.
fn miniz_bomb(bytes: usize) -> Vec<u8> {
    let mut list = Vec::new();
    ggep::write(&[ggep::GgepBlock::new(b"Z", &vec![0; bytes.min(200_000)])], false, &mut list);
    // Behind the magic, the flags, the id and the length.
    list[5..].to_vec()
}

#[test]
fn extensions_are_told_apart() {
    let sha1 = Sha1([9; 20]);
    let mut payload = hex("8000 666f6f 00");
    payload.extend_from_slice(format!("urn:sha1:{sha1}\x1c<xml/>\x1c").as_bytes());
    let mut list = Vec::new();
    ggep::write(&[ggep::GgepBlock::new(b"H", &[0x1c, 0, 1])], true, &mut list);
    payload.extend_from_slice(&list);
    let query = Query::parse(payload.into()).unwrap();
    let extensions: Vec<_> = query.extensions().collect();
    assert_eq!(extensions.len(), 3);
    assert_eq!(extensions[1], Extension::Text(b"<xml/>"));
    assert_eq!(extensions[2], Extension::Ggep(&list));
    assert_eq!(query.urns().collect::<Vec<_>>(), [sha1]);
    let (blocks, used) = ggep::parse(&list, &ggep::GgepLimits { blocks: 8, bytes: 100 }).unwrap();
    assert_eq!((blocks, used), (vec![ggep::GgepBlock::new(b"H", &[0x1c, 0, 1])], list.len()));
}

#[test]
fn a_hit_keeps_what_it_was_made_of() {
    let quality = Quality { push: Some(true), busy: Some(false), uploaded: None };
    let (place, servent) = (at("1.2.3.4:5"), Guid([3; 16]));
    let mut hit = HitBuilder::new(place, 350, (*b"SRVT", quality), servent, 300);
    let sha1 = Sha1([4; 20]);
    assert!(hit.add(FileIndex(7), 1_000, "a b.mp3", Some(sha1)));
    assert!(hit.add(FileIndex(8), 5 << 32, "Isos/of me/large\0.iso", Some(sha1)));
    assert!(!hit.add(FileIndex(9), 1, &"x".repeat(300), None), "no room");
    let hit = hit.finish().expect("two files");
    let read = QueryHit::parse(hit.payload().clone()).unwrap();
    assert_eq!(read, hit);
    assert_eq!((hit.count(), hit.at(), hit.servent()), (2, place, servent));
    assert_eq!((hit.vendor(), hit.quality()), (Some(*b"SRVT"), quality));
    let found: Vec<_> = hit.results().map(|f| (f.index.0, f.size, f.sha1())).collect();
    assert_eq!(found, [(7, 1_000, Some(sha1)), (8, 5 << 32, Some(sha1))]);
    let names: Vec<_> = hit.results().map(|f| (f.path(), f.name)).collect();
    let folder = String::from("Isos/of me/large .iso");
    assert_eq!(names, [("a b.mp3".into(), &b"a b.mp3"[..]), (folder, b"large .iso")]);
}

#[test]
fn impossible_streams_end_and_impossible_payloads_do_not() {
    let mut framer = Framer::new(LIMITS);
    framer.push(hex("df911f0151f9ef02ff410b4be5060900 77 07 00 00000000").into());
    assert_eq!(framer.next_frame(), Err(MessageFrameError::Kind(0x77)));
    assert_eq!(framer.next_frame(), Err(MessageFrameError::Kind(0x77)), "for ever");
    let mut framer = Framer::new(LIMITS);
    framer.push(hex("df911f0151f9ef02ff410b4be5060900 80 07 00 01000100").into());
    assert_eq!(framer.next_frame(), Err(MessageFrameError::TooLong(65_537)));
    for (kind, payload, why) in [
        (MessageKind::Pong, "00", PayloadError::Short),
        (MessageKind::Push, "00", PayloadError::Short),
        (MessageKind::Query, "0000 61", PayloadError::Unterminated),
        (MessageKind::Hit, "01 0000 00000000 00000000", PayloadError::Short),
        (MessageKind::Qrp, "02", PayloadError::Number),
        (MessageKind::Qrp, "01 03 02 00 04", PayloadError::Number),
        (MessageKind::Qrp, "00 00000100 07 00", PayloadError::Long),
        (MessageKind::Vendor, "00", PayloadError::Short),
    ] {
        assert_eq!(MessageBody::parse(kind, hex(payload).into()), Err(why), "{kind}");
    }
}

fn payload() -> impl Strategy<Value = OverlayPayload> {
    prop::collection::vec(any::<u8>(), 0..60).prop_map(OverlayPayload::from)
}

fn place() -> impl Strategy<Value = SocketAddrV4> {
    any::<(u32, u16)>().prop_map(|(ip, port)| SocketAddrV4::new(ip.into(), port))
}

fn body() -> impl Strategy<Value = MessageBody> {
    let qrp = prop_oneof![
        any::<(u32, u8)>().prop_map(|(length, infinity)| Qrp::Reset { length, infinity }),
        (1..9_u8, 0..9_u8, any::<bool>(), payload()).prop_map(|(seq, more, packed, data)| {
            let compressor = if packed { Compressor::Zlib } else { Compressor::None };
            Qrp::Patch { seq, count: seq + more, compressor, bits: 4, data }
        }),
    ];
    let pong = (place(), any::<(u32, u32)>(), payload());
    let vendor = (any::<(bool, [u8; 4], u16, u16)>(), payload());
    let query =
        ("[^\0]{0,40}", any::<(bool, bool)>(), prop::collection::vec(any::<[u8; 20]>(), 0..3));
    let files =
        prop::collection::vec((any::<u32>(), any::<u64>(), "[^\0]{0,20}", any::<bool>()), 1..5);
    prop_oneof![
        payload().prop_map(|ggep| MessageBody::Ping(Ping { ggep })),
        pong.prop_map(|(at, (files, kilobytes), ggep)| {
            MessageBody::Pong(Pong { at, files, kilobytes, ggep })
        }),
        any::<u16>().prop_flat_map(|code| {
            "[^\0]{0,40}".prop_map(move |text| MessageBody::Bye(Bye { code, text }))
        }),
        qrp.prop_map(MessageBody::Qrp),
        vendor.prop_map(|((standard, vendor, selector, version), data)| {
            MessageBody::Vendor(Vendor { standard, vendor, selector, version, data })
        }),
        (any::<([u8; 16], u32)>(), place(), payload()).prop_map(|((servent, index), at, ggep)| {
            MessageBody::Push(Push { servent: Guid(servent), index: FileIndex(index), at, ggep })
        }),
        query.prop_map(|(criteria, (firewalled, xml), urns)| {
            let urns: Vec<_> = urns.into_iter().map(Sha1).collect();
            let wishes = Wishes { firewalled, xml, ..Wishes::default() };
            let query = Query::new(wishes, &criteria, &urns);
            assert_eq!(query.wishes(), Some(wishes));
            assert_eq!(query.criteria(), criteria.as_bytes());
            assert_eq!(query.urns().collect::<Vec<_>>(), urns);
            MessageBody::Query(query)
        }),
        (place(), any::<([u8; 16], bool)>(), files).prop_map(|(at, (servent, busy), files)| {
            let quality = Quality { busy: Some(busy), ..Quality::default() };
            let mut hit = HitBuilder::new(at, 1, (*b"TEST", quality), Guid(servent), 4_096);
            for (index, size, name, hash) in &files {
                assert!(hit.add(FileIndex(*index), *size, name, hash.then_some(Sha1([1; 20]))));
            }
            let hit = hit.finish().expect("files");
            let found: Vec<_> =
                hit.results().map(|f| (f.index.0, f.size, f.name.to_vec())).collect();
            let leaf = |name: String| name.rsplit('/').next().unwrap_or_default().into();
            let wanted: Vec<_> =
                files.into_iter().map(|(index, size, name, _)| (index, size, leaf(name))).collect();
            assert_eq!(found, wanted);
            MessageBody::Hit(hit)
        }),
    ]
}

fn message() -> impl Strategy<Value = OverlayMessage> {
    (any::<([u8; 16], u8, u8)>(), body()).prop_map(|((guid, ttl, hops), body)| OverlayMessage {
        guid: Guid(guid),
        ttl,
        hops,
        body,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back_wherever_the_stream_is_cut(
        messages in prop::collection::vec(message(), 1..6),
        cuts in prop::collection::vec(1..90_usize, 1..12),
    ) {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| message.write(&mut bytes));
        prop_assert_eq!(&all(&bytes), &messages);
        let mut framer = Framer::new(LIMITS);
        let (mut read, mut rest, mut cuts) = (Vec::new(), &bytes[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (chunk, more) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            framer.push(OverlayPayload::copy_from_slice(chunk));
            while let Some(frame) = framer.next_frame().unwrap() {
                read.push(OverlayMessage::parse(frame).unwrap());
            }
            rest = more;
        }
        prop_assert_eq!(read, messages);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..9_usize,
    ) {
        let payload = OverlayPayload::from(bytes.clone());
        if let Ok(body) = MessageBody::parse(MessageKind::ALL[kind], payload.clone()) {
            look(&body);
            let mut again = Vec::new();
            body.write(&mut again);
            prop_assert_eq!(again.len(), body.len());
        }
        let _ = ggep::parse(&bytes, &ggep::GgepLimits { blocks: 16, bytes: 1_000 });
        let mut framer = Framer::new(LIMITS);
        framer.push(payload);
        while let Ok(Some(_)) = framer.next_frame() {}
    }
}

/// Looks at everything a body has to show.
fn look(body: &MessageBody) {
    match body {
        MessageBody::Query(query) => {
            let _ = (query.criteria(), query.wishes(), query.asks_for_everything());
            let _ = (query.extensions().count(), query.urns().count());
        }
        MessageBody::Hit(hit) => {
            assert_eq!(hit.results().count(), usize::from(hit.count()));
            let _ = (hit.at(), hit.servent(), hit.vendor(), hit.quality(), hit.result_set());
            hit.results().for_each(|found| _ = found.sha1());
        }
        _ => {}
    }
}
