//! PARQ on the wire: headers and lines. Each test is named after the
//! requirement it holds us to.

use proptest::prelude::*;
use servent_core::id::{FileIndex, Guid};
use servent_core::queue::{Dialect, QueuePosition};
use servent_core::time::Duration;
use servent_core::wire::http::{HeadLimits, HeadWriter, RequestHead, ResponseHead};
use servent_core::wire::queue::{
    PositionClaim, QueueReply, SignalLine, ToldPlace, callback, spoken, write_claim, write_place,
};

const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, lines: 64 };
const S: fn(u64) -> Duration = Duration::from_secs;
const ID: &str = "6a074979f3201edbf323b6425fef4a53";

fn id() -> Guid {
    Guid::parse(ID.as_bytes()).unwrap()
}

fn request(fields: &str) -> RequestHead {
    let text = format!("GET /get/1/a HTTP/1.1\r\n{fields}\r\n\r\n");
    RequestHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap().0
}

fn response(text: &str) -> ResponseHead {
    ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap().0
}

fn place(fields: &str) -> ToldPlace {
    match QueueReply::parse(&response(&format!("HTTP/1.1 503 Queued\r\n{fields}\r\n\r\n"))) {
        QueueReply::Place(place) => place,
        busy @ QueueReply::Busy { .. } => panic!("{fields:?} is {busy:?}"),
    }
}

fn ours(dialect: Dialect) -> QueuePosition {
    QueuePosition {
        dialect,
        ticket: id(),
        position: 1503,
        length: 1840,
        limit: 4,
        retry_after: S(600),
        lifetime: S(660),
        eta: Some(S(4200)),
        keep: false,
        lost: None,
    }
}

fn written(place: &QueuePosition) -> String {
    let mut head = HeadWriter::status(503, "Queued");
    write_place(&mut head, place);
    String::from_utf8(head.finish()).unwrap()
}

#[test]
fn pq_2_an_id_is_read_in_either_case_with_any_blanks_and_separators() {
    for text in [
        format!("position=2; ID={ID}"),
        format!("POSITION = 2 ,  id = {}", ID.to_uppercase()),
        format!("id=\"{ID}\";position=\"2\""),
        format!(" ;; Id={ID} ;\r\n position=2"),
        format!("position=x; position=2; ID=short; ID={ID}"),
    ] {
        let claim = PositionClaim::parse(&request(&format!("x-queued: {text}")).headers);
        assert_eq!(claim, PositionClaim { ticket: Some(id()), told: Some(2) }, "{text:?}");
    }
    assert_eq!(
        PositionClaim::parse(&request("X-Queued: ID=6a07").headers),
        PositionClaim::default()
    );
    let empty = PositionClaim::parse(&request("X-Queued: position=; ID=").headers);
    assert_eq!(empty, PositionClaim::default());
}

#[test]
fn pq_3_a_client_that_does_not_say_that_it_can_queue_is_passive() {
    assert_eq!(spoken(&request("X-Queued: position=1").headers), Dialect::Passive);
    assert_eq!(spoken(&request("X-Queue: 1.0").headers), Dialect::Parq);
}

#[test]
fn pq_4_the_far_part_of_the_line_is_told_everything_and_sent_away() {
    assert_eq!(
        written(&ours(Dialect::Parq)),
        format!(
            "HTTP/1.1 503 Queued\r\nX-Queue: 1.0\r\nX-Features: leave/1.0\r\n\
             X-Queued: position=1503; length=1840; ETA=4200; lifetime=660; ID={ID}\r\n\
             Retry-After: 600\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
    );
}

#[test]
fn pq_4_the_near_part_keeps_its_connection() {
    let near = QueuePosition { keep: true, ..ours(Dialect::Parq) };
    let head = response(&written(&near));
    assert!(head.keep_alive());
    assert_eq!(head.content_length(), Some(0));
}

#[test]
fn pq_5_a_reply_is_in_the_language_of_the_client() {
    let newer = written(&ours(Dialect::Parq11));
    assert!(!newer.contains("X-Queue:") && newer.contains("X-Features: queue/1.1\r\n"), "{newer}");
    let legacy = written(&ours(Dialect::Active));
    assert!(!legacy.contains("X-Queued") && !legacy.contains("X-Queue: 1"), "{legacy}");
    let passive = written(&QueuePosition { retry_after: S(250), ..ours(Dialect::Passive) });
    assert_eq!(
        passive,
        "HTTP/1.1 503 Queued\r\nRetry-After: 250\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
}

#[test]
fn pq_5_a_client_tells_the_dialect_of_a_reply_by_its_first_digits() {
    let parq = place(&format!("X-Queue: 1.0\r\nX-Queued: position=1; ID={ID}"));
    assert_eq!(parq.dialect, Dialect::Parq);
    let legacy = place("X-Queue: position=2,length=5,limit=4,pollMin=45,pollMax=120");
    assert_eq!(legacy.dialect, Dialect::Active);
    // A deployed server leaves X-Queue out and puts the id first.
    let newer = place(&format!(
        "X-Features: queue/1.1\r\nX-Queued: ID={ID}; position=1; lifetime=90; length=2; ETA=0\r\n\
         Retry-After: 30"
    ));
    assert_eq!(newer.dialect, Dialect::Parq11);
    assert_eq!((newer.ticket, newer.position, newer.length), (Some(id()), Some(1), Some(2)));
    assert_eq!((newer.retry_after, newer.lifetime), (Some(S(30)), Some(S(90))));
}

#[test]
fn pq_6_a_client_gives_its_id_and_the_position_it_was_told() {
    let mut head = HeadWriter::request("GET", "/get/1/a");
    let claim = PositionClaim { ticket: Some(id()), told: Some(1503) };
    write_claim(&mut head, Dialect::Parq, claim, Some("13.4.5.6:4567".parse().unwrap()), true);
    let text = String::from_utf8(head.finish()).unwrap();
    assert_eq!(
        text,
        format!(
            "GET /get/1/a HTTP/1.1\r\nX-Queue: 1.0\r\nX-Features: hold/1.0\r\n\
             X-Node: 13.4.5.6:4567\r\nX-Queued: position=1503; ID={ID}\r\n\r\n"
        )
    );
    let (back, _) = RequestHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
    assert_eq!(PositionClaim::parse(&back.headers), claim);
}

#[test]
fn pq_8_x_node_names_a_place_to_call() {
    let at = |fields: &str| callback(&request(fields).headers).map(|a| a.to_string());
    assert_eq!(at("X-Node: 13.4.5.6:4567").as_deref(), Some("13.4.5.6:4567"));
    assert_eq!(at("X-Listen-IP: 13.4.5.6:4567").as_deref(), Some("13.4.5.6:4567"));
    assert_eq!(at("X-Node: name:1, 13.4.5.6:7, [::1]:8").as_deref(), Some("13.4.5.6:7"));
    for bad in ["X-Node: 13.4.5.6", "X-Node: 0.0.0.0:1", "X-Node: 1.2.3.4:0", "X-Node: x", "A: b"] {
        assert_eq!(at(bad), None, "{bad}");
    }
}

#[test]
fn pq_8_the_call_is_one_line_with_the_address_of_the_server() {
    let server = Some("45.56.67.78:1234".parse().unwrap());
    let line = SignalLine::Queue { ticket: id(), server };
    assert_eq!(line.to_bytes(), format!("QUEUE {ID} 45.56.67.78:1234\r\n").into_bytes());
    assert_eq!(SignalLine::parse(&line.to_bytes()), Some(line));
    let old = SignalLine::parse(format!("queue  {}", ID.to_uppercase()).as_bytes());
    assert_eq!(old, Some(SignalLine::Queue { ticket: id(), server: None }));
    for bad in
        ["QUEUE", "QUEUE x", &format!("QUEUE {ID} nowhere"), &format!("QUEUE {ID} 1.2.3.4:0")]
    {
        assert_eq!(SignalLine::parse(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn pq_8_giv_opens_a_connection_the_same_way_round() {
    let line = SignalLine::parse(format!("GIV 7:{ID}/a song.ogg\n").as_bytes());
    let name = "a song.ogg".into();
    let want = SignalLine::Giv { index: FileIndex(7), servent: id(), name };
    assert_eq!(line.as_ref(), Some(&want));
    assert_eq!(want.to_bytes(), format!("GIV 7:{ID}/a song.ogg\n\n").into_bytes());
    assert_eq!(SignalLine::parse(b"GIV 7:abc/x"), None);
    assert_eq!(SignalLine::parse(b"GET / HTTP/1.1"), None);
}

#[test]
fn pq_15_an_unknown_eta_is_not_told() {
    let text = written(&QueuePosition { eta: None, ..ours(Dialect::Parq) });
    assert!(!text.to_ascii_lowercase().contains("eta"), "{text}");
    let text =
        written(&QueuePosition { eta: Some(Duration::from_millis(1_001)), ..ours(Dialect::Parq) });
    assert!(text.contains("ETA=2;"), "{text}");
}

proptest! {
    #[test]
    fn pq_4_every_place_we_write_is_read_back(
        newer: bool, ticket: [u8; 16], position in 1..u32::MAX, more in 0..1000_u32, keep: bool,
        wait in 0..u64::MAX, lifetime in 0..u64::MAX, eta in prop::option::of(0..1_000_000_u64),
    ) {
        let dialect = if newer { Dialect::Parq11 } else { Dialect::Parq };
        let place = QueuePosition {
            dialect, ticket: Guid(ticket), position, length: position.saturating_add(more), limit: 1,
            retry_after: Duration::from_micros(wait), lifetime: Duration::from_micros(lifetime),
            eta: eta.map(Duration::from_secs), keep, lost: None,
        };
        let told = QueueReply::parse(&response(&written(&place)));
        prop_assert_eq!(told, QueueReply::Place(ToldPlace {
            dialect, ticket: Some(place.ticket), position: Some(position),
            length: Some(place.length), limit: None, retry_after: Some(place.retry_after),
            lifetime: Some(place.lifetime), eta: place.eta, keep, lost: None,
        }));
    }

    #[test]
    fn pq_4_no_queue_header_can_do_harm(
        name in "X-Queue|X-Queued|X-Node|Retry-After", value in "(position|ID|pollMin|;|,|=|\"|[0-9a-f. ]|\\PC){0,30}",
    ) {
        let fields = format!("{name}: {value}");
        let head = request(&fields);
        let _ = (spoken(&head.headers), PositionClaim::parse(&head.headers), callback(&head.headers));
        let _ = QueueReply::parse(&response(&format!("HTTP/1.1 503 x\r\n{fields}\r\n\r\n")));
    }

    #[test]
    fn pq_8_any_line_is_read_without_harm(line: Vec<u8>) {
        let _ = SignalLine::parse(&line);
    }
}
