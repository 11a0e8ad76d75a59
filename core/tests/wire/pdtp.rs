//! The examples of docs/wire-pdtp.md, messages drawn at random, and bytes of
//! every other kind.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;
use servent_core::wire::pdtp::{
    AgreedExtensions, Completed, FrameReader, Hash, MessageError, PdtpLimits, PdtpMessage, Reason,
    SiteAnnouncement, Span, Text, TransferKey, TransferMethod, TransferOrder, encode, parse,
};

const DOCUMENT: &str = include_str!("../../../docs/wire-pdtp.md");

/// The text of the example called `name`.
fn example(name: &str) -> &'static str {
    let begin = format!("```json {name}\n");
    let (_, rest) = DOCUMENT.split_once(&begin).expect("the document has the example");
    rest.split_once("\n```").expect("the example ends").0
}

fn read(text: &str) -> Result<Vec<PdtpMessage>, MessageError> {
    parse(text.as_bytes(), &PdtpLimits::default())
}

fn url() -> Text {
    "http://host/file".into()
}

fn about(last: u8, id: &str) -> TransferKey {
    let peer = IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    TransferKey { peer, url: url(), span: Span::new(262_144, 524_288), peer_id: id.into() }
}

fn bodies(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    FrameReader::default().take(stream, |body| found.push(body.to_vec())).expect("frames");
    found
}

#[test]
fn the_examples_of_the_document_are_what_is_written_and_read() {
    let all = AgreedExtensions { merge: true, early: true };
    let failed = Completed {
        about: about(7, "c7"),
        hash: None,
        offset: Some(4_096),
        reason: Some(Reason::Data),
        took: None,
    };
    let to = TransferOrder {
        about: about(7, "c7"),
        port: 7_007,
        method: TransferMethod::Get,
        hash: None,
    };
    let at = "10.0.0.8:6086".parse().unwrap();
    let moved = PdtpMessage::TellInfo {
        url: url(),
        size: None,
        chunk_size: None,
        streaming: false,
        sha256: None,
        gone: Some("file is coordinated at 10.0.0.8:6086".into()),
        site: SiteAnnouncement { moved: Some(at), others: Vec::new() },
    };
    let examples = [
        (
            "register",
            vec![PdtpMessage::Register {
                client_id: "c1".into(),
                listen_port: Some(7_001),
                extensions: all,
            }],
        ),
        ("request", vec![PdtpMessage::Request { url: url(), span: Span::new(0, 262_144) }]),
        ("transfer", vec![PdtpMessage::Transfer(to)]),
        ("verify", vec![PdtpMessage::AskVerify(about(1, "c1"))]),
        ("failed", vec![PdtpMessage::Completed(failed)]),
        ("moved", vec![moved]),
        (
            "merged",
            vec![
                PdtpMessage::HashVerify { url: url(), span: Span::new(0, 10), hash_ok: false },
                PdtpMessage::SetConcurrency { max_download: None, max_upload: Some(2) },
            ],
        ),
    ];
    assert_eq!(DOCUMENT.matches("```json ").count(), examples.len(), "each example is checked");
    for (name, messages) in examples {
        assert_eq!(read(example(name)).as_ref(), Ok(&messages), "{name}");
        let mut stream = Vec::new();
        assert_eq!(encode(&messages, true, &mut stream), 1);
        assert_eq!(String::from_utf8_lossy(&stream[2..]), example(name), "{name}");
    }
}

#[test]
fn older_spellings_are_read() {
    let same = [
        (r#"["client_info",{"client_id":"c"}]"#, r#"["register",{"client_id":"c"}]"#),
        (
            r#"["tell_info",{"url":"u","size":5,"chunk_size":2}]"#,
            r#"["tell_info",{"url":"u","size":5,"chunkSize":2}]"#,
        ),
        (
            r#"["tell_verify",{"host":"1.2.3.4","url":"u","peer_id":"p","is_authorized":true}]"#,
            r#"["tell_verify",{"peer":"1.2.3.4","url":"u","peer_id":"p","authorized":true}]"#,
        ),
        (
            r#"["transfer",{"host":"::1","port":1,"method":"put","url":"u","peer_id":"p"}]"#,
            r#"["transfer",{"peer":"::1","port":1,"method":"PUT","url":"u","peer_id":"p"}]"#,
        ),
    ];
    for (old, new) in same {
        assert_eq!(read(old), read(new));
        assert!(read(old).is_ok(), "{old}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let long = format!(r#"["ask_info",{{"url":"{}"}}]"#, "u".repeat(2_049));
    let many = format!("[{}]", [r#""ask_info",{"url":"u"}"#; 257].join(","));
    for (text, error) in [
        ("[", "not JSON: EOF while parsing a list at line 1 column 1"),
        ("{}", "a frame must be a list of a type and its arguments"),
        (r#"["register"]"#, "a frame must be a list of a type and its arguments"),
        (r#"["dance",{}]"#, "unknown message type `dance`"),
        (r#"["register",{}]"#, "`register` without `client_id`"),
        (r#"["register",{"client_id":""}]"#, "`register`: `client_id` is wrong"),
        (
            r#"["register",{"client_id":"c","listen_port":65536}]"#,
            "`register`: `listen_port` is wrong",
        ),
        (r#"["request",{"url":"u","range":{"min":5,"max":4}}]"#, "`request`: `range` is wrong"),
        (
            r#"["request",{"url":"u","range":{"max":18446744073709551615}}]"#,
            "`request`: `range` is wrong",
        ),
        (r#"["request",{"url":"u","range":7}]"#, "`request`: `range` is wrong"),
        (
            r#"["ask_verify",{"peer":"example.org","url":"u","peer_id":"p"}]"#,
            "`ask_verify`: `peer` is wrong",
        ),
        (r#"["hash_verify",{"url":"u","hash_ok":1}]"#, "`hash_verify`: `hash_ok` is wrong"),
        (&long, "`ask_info`: `url` is wrong"),
        (&many, "too many messages in a frame"),
    ] {
        assert_eq!(read(text).map_err(|e| e.to_string()), Err(error.to_owned()), "{text}");
    }
    assert_eq!(parse(b"[\xff]", &PdtpLimits::default()), Err(MessageError::NotText));
}

#[test]
fn messages_share_a_frame_only_where_that_is_agreed_and_as_far_as_they_fit() {
    let ask = PdtpMessage::AskInfo { url: "u".repeat(2_000).into() };
    let asks = vec![ask; 100];
    let mut alone = Vec::new();
    assert_eq!(encode(&asks, false, &mut alone), 100);
    assert_eq!(bodies(&alone).len(), 100);
    let mut merged = Vec::new();
    let frames = encode(&asks, true, &mut merged);
    let bodies = bodies(&merged);
    assert_eq!((frames, bodies.len()), (4, 4));
    let limits = PdtpLimits::default();
    let back: Vec<PdtpMessage> =
        bodies.iter().flat_map(|body| parse(body, &limits).expect("messages")).collect();
    assert_eq!(back, asks);
}

fn text() -> impl Strategy<Value = Text> {
    prop_oneof!["[a-z0-9:/.]{1,20}", "\\PC{1,20}", "[\u{0}-\u{1f}\"\\\\]{1,9}"].prop_map(Text::from)
}

fn span() -> impl Strategy<Value = Span> {
    (any::<u32>(), prop::option::of(1..1_000_000_u64)).prop_map(|(start, length)| {
        let start = u64::from(start);
        Span { start, end: length.map(|length| start + length) }
    })
}

fn about_any() -> impl Strategy<Value = TransferKey> {
    (any::<IpAddr>(), text(), span(), text()).prop_map(|(peer, url, span, peer_id)| TransferKey {
        peer,
        url,
        span,
        peer_id,
    })
}

fn hash() -> impl Strategy<Value = Option<Hash>> {
    prop::option::of(any::<[u8; 32]>().prop_map(Hash))
}

fn extensions() -> impl Strategy<Value = AgreedExtensions> {
    any::<(bool, bool)>().prop_map(|(merge, early)| AgreedExtensions { merge, early })
}

fn port() -> impl Strategy<Value = Option<u16>> {
    prop::option::of(1..=u16::MAX)
}

fn client_message() -> impl Strategy<Value = PdtpMessage> {
    let reason = prop::sample::select(vec![Reason::Connect, Reason::Data, Reason::Hash]);
    let number = || prop::option::of(any::<u64>());
    let completed = (about_any(), hash(), number(), prop::option::of(reason), number());
    prop_oneof![
        (text(), port(), extensions()).prop_map(|(client_id, listen_port, extensions)| {
            PdtpMessage::Register { client_id, listen_port, extensions }
        }),
        text().prop_map(|url| PdtpMessage::AskInfo { url }),
        (text(), span()).prop_map(|(url, span)| PdtpMessage::Request { url, span }),
        (text(), span()).prop_map(|(url, span)| PdtpMessage::Unrequest { url, span }),
        (text(), span()).prop_map(|(url, span)| PdtpMessage::Provide { url, span }),
        (text(), span()).prop_map(|(url, span)| PdtpMessage::Unprovide { url, span }),
        about_any().prop_map(PdtpMessage::AskVerify),
        completed.prop_map(|(about, hash, offset, reason, took)| {
            PdtpMessage::Completed(Completed { about, hash, offset, reason, took })
        }),
        port().prop_map(|listen_port| PdtpMessage::ChangePort { listen_port }),
        any::<(Option<u32>, Option<u32>)>().prop_map(|(max_download, max_upload)| {
            PdtpMessage::SetConcurrency { max_download, max_upload }
        }),
    ]
}

/// Where a member of a site sends its clients, and who else answers.
fn sent_on() -> impl Strategy<Value = SiteAnnouncement> {
    let at = || (any::<IpAddr>(), 1..=u16::MAX).prop_map(SocketAddr::from);
    (prop::option::of(at()), prop::collection::vec(at(), 0..4))
        .prop_map(|(moved, others)| SiteAnnouncement { moved, others })
}

fn server_message() -> impl Strategy<Value = PdtpMessage> {
    let number = || prop::option::of(any::<u64>());
    let method = prop::sample::select(vec![TransferMethod::Get, TransferMethod::Put]);
    prop_oneof![
        extensions().prop_map(PdtpMessage::Extensions),
        (
            text(),
            (number(), number()),
            any::<bool>(),
            hash(),
            prop::option::of("\\PC{0,20}"),
            sent_on()
        )
            .prop_map(|(url, (size, chunk_size), streaming, sha256, gone, site)| {
                PdtpMessage::TellInfo { url, size, chunk_size, streaming, sha256, gone, site }
            }),
        (about_any(), 1..=u16::MAX, method, hash()).prop_map(|(about, port, method, hash)| {
            PdtpMessage::Transfer(TransferOrder { about, port, method, hash })
        }),
        (about_any(), any::<bool>())
            .prop_map(|(about, authorized)| PdtpMessage::TellVerify { about, authorized }),
        (text(), span(), any::<bool>()).prop_map(|(url, span, hash_ok)| PdtpMessage::HashVerify {
            url,
            span,
            hash_ok
        }),
        "\\PC{0,20}".prop_map(|message| PdtpMessage::ProtocolError { message }),
        ("[a-z_]{1,9}", "\\PC{0,20}")
            .prop_map(|(reason, message)| PdtpMessage::Error { reason, message }),
    ]
}

proptest! {
    #[test]
    fn every_message_reads_back_as_it_was(
        messages in prop::collection::vec(prop_oneof![client_message(), server_message()], 1..8),
        merge in any::<bool>(),
    ) {
        let mut stream = Vec::new();
        encode(&messages, merge, &mut stream);
        let bodies = bodies(&stream);
        let limits = PdtpLimits::default();
        let back: Vec<PdtpMessage> =
            bodies.iter().flat_map(|body| parse(body, &limits).expect("messages")).collect();
        prop_assert_eq!(back, messages);
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&body, &PdtpLimits::default());
        let mut reader = FrameReader::new(100);
        let _ = reader.take(&body, |frame| assert!(!frame.is_empty() && frame.len() <= 100));
    }

    #[test]
    fn any_json_is_a_message_or_an_error(
        name in prop::sample::select(vec!["register", "request", "completed", "transfer"]),
        args in r#"\{("(url|range|peer|peer_id|min|max|client_id)":(1|"u"|null|\[\]|\{"min":1\}|-1|1.5),){0,4}"x":0\}"#,
    ) {
        let _ = read(&format!("[\"{name}\",{args}]"));
    }
}
