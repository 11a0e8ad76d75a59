//! Heads: parsed whole, parsed in pieces, and everything that is read out of
//! them.
#![no_main]

use servent_core::wire::http::{
    Alts, AvailableRanges, ContentRange, HeadLimits, Headers, RangeSpec, RequestHead, ResponseHead,
    Target,
};

const LIMITS: HeadLimits = HeadLimits { bytes: 4_096, lines: 32 };

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(Some((head, used))) = RequestHead::parse(data, &LIMITS) {
        whole(used, data);
        let _ = (Target::parse(&head.target), head.keep_alive());
        headers(&head.headers);
        // The same head cut anywhere is incomplete, never something else.
        let cut = usize::from(data[used - 1]) * used / 256;
        assert!(matches!(RequestHead::parse(&data[..cut], &LIMITS), Ok(None)));
    }
    if let Ok(Some((head, used))) = ResponseHead::parse(data, &LIMITS) {
        whole(used, data);
        let _ = (head.keep_alive(), head.content_length());
        headers(&head.headers);
    }
});

fn whole(used: usize, data: &[u8]) {
    assert!(used > 0 && used <= data.len() && used <= LIMITS.bytes as usize);
}

fn headers(headers: &Headers) {
    assert!(headers.len() <= LIMITS.lines as usize);
    for (_, value) in headers.iter() {
        if let Some((start, end)) = RangeSpec::parse(value).and_then(|r| r.resolve(1_000)) {
            assert!(start < end && end <= 1_000);
        }
        let _ = ContentRange::parse(value);
        let _ = Alts::parse(value);
        if let Some(ranges) = AvailableRanges::parse(value) {
            assert!(ranges.as_slice().windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
