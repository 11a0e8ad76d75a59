//! The handshake of the overlay as it is met in the field, and the deflated
//! links it can lead to.

use servent_core::id::Guid;
use servent_core::wire::gnutella::{
    Deflater, HandshakeOffer, HandshakeReply, Hello, InflateError, InflateLimits, Inflater,
    parse_tries,
};
use servent_core::wire::http::{HeadError, HeadLimits};

const LIMITS: HeadLimits = HeadLimits { bytes: 16_384, lines: 64 };
const INFLATE: InflateLimits = InflateLimits { bytes: 1 << 20, ratio: 128 };

fn offer() -> HandshakeOffer {
    HandshakeOffer {
        agent: "Servent/1".into(),
        servent: Some(Guid([7; 16])),
        listen: Some("1.2.3.4:6346".parse().unwrap()),
        remote: Some("5.6.7.8".parse().unwrap()),
        ultrapeer: Some(true),
        query_routing: true,
        last_hop: true,
        dynamic: true,
        probes: true,
        pong_caching: true,
        ggep: true,
        bye: true,
        vendor: true,
        max_ttl: Some(4),
        degree: Some(32),
        place: Some(6349),
        inflates: true,
        deflates: false,
    }
}

#[test]
fn three_heads_make_a_connection() {
    let bytes = offer().connect();
    assert!(bytes.starts_with(b"GNUTELLA CONNECT/0.6\r\nUser-Agent: Servent/1\r\n"));
    let (hello, used) = Hello::parse(&bytes, &LIMITS).unwrap().unwrap();
    assert_eq!(used, bytes.len());
    let Hello::New(headers) = hello else { panic!("0.6") };
    assert_eq!(HandshakeOffer::parse(&headers), offer());
    let server = HandshakeOffer { deflates: true, ..offer() };
    let mut bytes = server.accept();
    let head = bytes.len();
    bytes.extend_from_slice(&[0x78, 0x9c]);
    let (reply, used) = HandshakeReply::parse(&bytes, &LIMITS).unwrap().unwrap();
    assert!(reply.is_ok() && used == head, "what follows is a message");
    assert_eq!(HandshakeOffer::parse(&reply.headers), server);
    let last = HandshakeOffer { deflates: true, ..HandshakeOffer::default() }.confirm();
    let (reply, _) = HandshakeReply::parse(&last, &LIMITS).unwrap().unwrap();
    assert!(reply.is_ok() && HandshakeOffer::parse(&reply.headers).deflates);
}

#[test]
fn what_the_field_sends_is_read() {
    let bytes = b"GNUTELLA CONNECT/0.7\r\nuser-agent: Old\r\n  folded\r\nX-Ultrapeer:\r\n\
        X-QUERY-ROUTING: 0.2\r\nGGEP: x\r\nUnknown: y\r\nAccept-encoding: gzip\r\n\
        Accept-Encoding: Deflate\r\nListen-IP: 9.9.9.9\r\nX-Max-TTL: 999\r\n\r\n";
    let Some((Hello::New(headers), _)) = Hello::parse(bytes, &LIMITS).unwrap() else {
        panic!("a higher version is answered as 0.6")
    };
    let offer = HandshakeOffer::parse(&headers);
    assert_eq!(offer.agent, "Old folded");
    assert_eq!((offer.ultrapeer, offer.query_routing, offer.ggep), (None, true, false));
    assert_eq!((offer.inflates, offer.max_ttl), (true, None));
    assert_eq!(offer.listen, Some("9.9.9.9:6346".parse().unwrap()));
}

#[test]
fn the_first_version_is_answered() {
    let bytes = b"GNUTELLA CONNECT/0.4\n\nrest";
    assert_eq!(Hello::parse(bytes, &LIMITS), Ok(Some((Hello::Old, 22))));
    assert_eq!(HandshakeOffer::accept_old(), b"GNUTELLA OK\n\n");
    let (reply, used) = HandshakeReply::parse(b"GNUTELLA OK\n\n\0", &LIMITS).unwrap().unwrap();
    assert!(reply.is_ok() && used == 13);
}

#[test]
fn a_refusal_names_others() {
    let tries = ["1.1.1.1:1".parse().unwrap(), "[2001:db8::1]:2".parse().unwrap()];
    let bytes = offer().refuse(503, "Full\r\nX-Evil: 1", &tries);
    let (reply, _) = HandshakeReply::parse(&bytes, &LIMITS).unwrap().unwrap();
    assert_eq!((reply.status, reply.headers.get("X-Evil")), (503, None));
    assert_eq!(parse_tries(&reply.headers), tries);
    let bytes =
        b"GNUTELLA/0.6 503 Busy\r\nX-Try: 1.1.1.1:6346 2004-01-01T01:01Z,garbage,2.2.2.2:0\r\n\
        X-Try-Ultrapeers: 3.3.3.3\r\n\r\n";
    let (reply, _) = HandshakeReply::parse(bytes, &LIMITS).unwrap().unwrap();
    let named: Vec<_> = parse_tries(&reply.headers).iter().map(ToString::to_string).collect();
    assert_eq!(named, ["1.1.1.1:6346", "3.3.3.3:6346"]);
}

#[test]
fn what_is_no_handshake_is_refused() {
    for bytes in [&b"GNUTELLA CONNECT/x\r\n\r\n"[..], b"GNUTELLA HELLO/0.6\r\n\r\n"] {
        assert_eq!(Hello::parse(bytes, &LIMITS), Err(HeadError::FirstLine));
    }
    assert_eq!(
        HandshakeReply::parse(b"GNUTELLA/0.6 yes\r\n\r\n", &LIMITS),
        Err(HeadError::FirstLine)
    );
    assert_eq!(
        HandshakeReply::parse(b"HTTP/1.1 200 OK\r\n\r\n", &LIMITS),
        Err(HeadError::FirstLine)
    );
    let long = [&b"GNUTELLA CONNECT/0.6\r\n"[..], &[b'x'; 20_000]].concat();
    assert_eq!(Hello::parse(&long, &LIMITS), Err(HeadError::TooLong));
    let many = [&b"GNUTELLA CONNECT/0.6\r\n"[..], &b"A: b\r\n".repeat(70)].concat();
    assert_eq!(Hello::parse(&many, &LIMITS), Err(HeadError::TooManyLines));
    assert_eq!(Hello::parse(b"GNUTELLA CONNECT/0.6\r\nUser", &LIMITS), Ok(None));
}

#[test]
fn a_deflated_link_is_read_wherever_it_is_cut() {
    let (mut deflater, mut inflater) = (Deflater::new(), Inflater::new(INFLATE));
    let mut read = Vec::new();
    let mut sent = Vec::new();
    for n in 0..200_u32 {
        let text = format!("message {n} of many, {}", "and more ".repeat(n as usize % 90));
        sent.extend_from_slice(text.as_bytes());
        let packed = deflater.push(text.as_bytes());
        for piece in packed.chunks(1 + n as usize % 17) {
            read.extend(inflater.push(piece).unwrap());
        }
        assert_eq!(read.len(), sent.len(), "everything sent can be read at once");
    }
    assert_eq!(read, sent);
}

#[test]
fn a_bomb_and_damage_end_a_deflated_link() {
    let bomb = Deflater::new().push(&vec![0; 4 << 20]);
    assert!(bomb.len() < 64 * 1024);
    assert_eq!(Inflater::new(INFLATE).push(&bomb), Err(InflateError::Bomb));
    let mut slow = Inflater::new(INFLATE);
    let end = bomb.chunks(16).map(|piece| slow.push(piece)).find(Result::is_err);
    assert_eq!(end, Some(Err(InflateError::Bomb)), "in small pieces too");
    assert_eq!(Inflater::new(INFLATE).push(b"plain text"), Err(InflateError::Damaged));
}
