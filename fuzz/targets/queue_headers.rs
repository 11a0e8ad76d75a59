//! Queue headers of both dialects, in requests and in replies, and the lines
//! `QUEUE` and `GIV`.
#![no_main]

use servent_core::wire::http::{HeadLimits, RequestHead, ResponseHead};
use servent_core::wire::queue::{PositionClaim, QueueReply, SignalLine, callback, spoken};

const LIMITS: HeadLimits = HeadLimits { bytes: 8_192, lines: 64 };

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(line) = SignalLine::parse(data) {
        assert_eq!(SignalLine::parse(&line.to_bytes()), Some(line), "a line reads back as it was");
    }
    let text = String::from_utf8_lossy(data).replace("\r\n\r\n", "\r\n");
    let request = format!("GET / HTTP/1.1\r\n{text}\r\n\r\n");
    if let Ok(Some((head, _))) = RequestHead::parse(request.as_bytes(), &LIMITS) {
        let _ =
            (spoken(&head.headers), PositionClaim::parse(&head.headers), callback(&head.headers));
    }
    let response = format!("HTTP/1.1 503 Queued\r\n{text}\r\n\r\n");
    if let Ok(Some((head, _))) = ResponseHead::parse(response.as_bytes(), &LIMITS) {
        let _ = QueueReply::parse(&head);
    }
});
