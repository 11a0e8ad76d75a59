//! Active Queueing on the wire: the headers, as deployed peers write them and
//! as we do. Each test is named after the requirement it holds us to.

use servent_core::id::Guid;
use servent_core::queue::{Dialect, QueuePosition};
use servent_core::time::Duration;
use servent_core::wire::http::{HeadLimits, HeadWriter, RequestHead, ResponseHead};
use servent_core::wire::queue::{
    PositionClaim, QueueReply, ToldPlace, spoken, write_claim, write_place,
};

const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, lines: 64 };
const S: fn(u64) -> Duration = Duration::from_secs;

fn request(fields: &str) -> RequestHead {
    let text = format!("GET /get/1/a HTTP/1.1\r\n{fields}\r\n\r\n");
    RequestHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap().0
}

fn told(fields: &str) -> QueueReply {
    let text = format!("HTTP/1.1 503 Queued\r\n{fields}\r\n\r\n");
    QueueReply::parse(&ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap().0)
}

fn place(fields: &str) -> ToldPlace {
    match told(fields) {
        QueueReply::Place(place) => place,
        busy @ QueueReply::Busy { .. } => panic!("{fields:?} is {busy:?}"),
    }
}

/// What we tell an Active Queueing client.
fn ours() -> QueuePosition {
    QueuePosition {
        dialect: Dialect::Active,
        ticket: Guid([7; 16]),
        position: 2,
        length: 5,
        limit: 4,
        retry_after: S(45),
        lifetime: S(120),
        eta: Some(S(99)),
        keep: true,
        lost: None,
    }
}

fn written(place: &QueuePosition) -> String {
    let mut head = HeadWriter::status(503, "Queued");
    write_place(&mut head, place);
    String::from_utf8(head.finish()).unwrap()
}

#[test]
fn aq_1_a_client_says_that_it_can_queue() {
    let mut head = HeadWriter::request("GET", "/get/1/a");
    write_claim(&mut head, Dialect::Active, PositionClaim::default(), None, true);
    let text = String::from_utf8(head.finish()).unwrap();
    assert_eq!(text, "GET /get/1/a HTTP/1.1\r\nX-Queue: 0.1\r\n\r\n");
    assert_eq!(spoken(&request("X-Queue: 0.1").headers), Dialect::Active);
}

#[test]
fn aq_1_the_level_is_read_however_it_is_written() {
    for (fields, dialect) in [
        ("x-QUEUE:0.1", Dialect::Active),
        ("X-Queue:  \t0.1 ", Dialect::Active),
        ("X-Queue: 1.0", Dialect::Parq),
        ("X-Queue:\r\n\t1.0", Dialect::Parq),
        ("X-Queue: 1.1", Dialect::Parq11),
        ("X-Queue: 1.7", Dialect::Parq),
        ("X-Queue: 2.0", Dialect::Parq),
        ("X-Queue: 0.1\r\nX-Queue: 1.0", Dialect::Parq),
        ("X-Queue: 0.1, 1.0", Dialect::Parq),
        ("X-Queue:", Dialect::Passive),
        ("X-Queue: yes", Dialect::Passive),
        ("X-Queue: 1", Dialect::Passive),
        ("X-Queue: 1.0x", Dialect::Passive),
        ("X-Queue: 99999999999.0", Dialect::Passive),
        ("Host: x", Dialect::Passive),
    ] {
        assert_eq!(spoken(&request(fields).headers), dialect, "{fields:?}");
    }
}

#[test]
fn aq_3_a_place_is_one_header_with_five_keys_on_a_kept_connection() {
    assert_eq!(
        written(&ours()),
        "HTTP/1.1 503 Queued\r\n\
         X-Queue: position=2,length=5,limit=4,pollMin=45,pollMax=120\r\n\
         Retry-After: 45\r\nContent-Length: 0\r\n\r\n"
    );
}

#[test]
fn aq_3_what_we_write_we_read() {
    let text = written(&ours());
    let (head, used) = ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
    assert_eq!(used, text.len());
    assert_eq!(head.content_length(), Some(0));
    let QueueReply::Place(place) = QueueReply::parse(&head) else { panic!("{text}") };
    assert_eq!((place.dialect, place.keep), (Dialect::Active, true));
    assert_eq!((place.position, place.length, place.limit), (Some(2), Some(5), Some(4)));
    assert_eq!((place.retry_after, place.lifetime), (Some(S(45)), Some(S(120))));
}

#[test]
fn aq_4_every_key_is_optional_and_they_may_stand_in_several_headers() {
    let split = place("X-Queue: position=2\r\nx-queue: pollMin=45,\r\nX-QUEUE: pollmax = 120");
    assert_eq!((split.position, split.length), (Some(2), None));
    assert_eq!((split.retry_after, split.lifetime), (Some(S(45)), Some(S(120))));
    let folded = place("X-Queue: position=2,\r\n  length=5,\r\n\tlimit=4");
    assert_eq!((folded.position, folded.length, folded.limit), (Some(2), Some(5), Some(4)));
    assert_eq!(place("X-Queue: length=9").position, None);
}

#[test]
fn aq_4_unknown_and_quoted_keys_do_no_harm() {
    let shareaza = place("X-Queue: position=1,length=4,limit=2,pollMin=45,pollMax=120,id=\"s, x\"");
    assert_eq!((shareaza.position, shareaza.lifetime), (Some(1), Some(S(120))));
    let gtk = place("X-Queue: position=2, length=3, limit=1, pollMin=45, pollMax=105");
    assert_eq!((gtk.length, gtk.lifetime), (Some(3), Some(S(105))));
    let odd = place("X-Queue: =,,position=zwei,position=3,pollMin=-5,x");
    assert_eq!((odd.position, odd.retry_after), (Some(3), None));
}

#[test]
fn aq_10_a_full_queue_is_plainly_busy() {
    assert_eq!(told("X-Queue: position=full"), QueueReply::Busy { retry_after: None });
    assert_eq!(told("Retry-After: 60"), QueueReply::Busy { retry_after: Some(S(60)) });
    assert_eq!(
        told("X-Queue: 1.0\r\nRetry-After: 9"),
        QueueReply::Busy { retry_after: Some(S(9)) }
    );
    assert_eq!(
        told("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"),
        QueueReply::Busy { retry_after: None }
    );
    assert_eq!(told("X-Queue: nonsense"), QueueReply::Busy { retry_after: None });
}

#[test]
fn aq_11_poll_times_of_a_scaled_down_schedule_keep_their_decimals() {
    let scaled = QueuePosition {
        retry_after: Duration::from_millis(450),
        lifetime: Duration::from_millis(1_200),
        ..ours()
    };
    let text = written(&scaled);
    assert!(text.contains("pollMin=0.45,pollMax=1.2\r\n"), "{text}");
    assert!(text.contains("Retry-After: 0.45\r\n"), "{text}");
    let place = place("X-Queue: pollMin=0.45,pollMax=1.2");
    assert_eq!(
        (place.retry_after, place.lifetime),
        (Some(scaled.retry_after), Some(scaled.lifetime))
    );
}
