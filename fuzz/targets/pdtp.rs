//! Frames of a swarm's coordinator and its clients.
#![no_main]

use servent_core::wire::pdtp::{FrameReader, PdtpLimits, encode, parse};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let limits = PdtpLimits::default();
    let mut reader = FrameReader::default();
    let _ = reader.take(data, |body| read(body, &limits));
    read(data, &limits);
});

fn read(body: &[u8], limits: &PdtpLimits) {
    let Ok(messages) = parse(body, limits) else { return };
    let mut stream = Vec::new();
    let frames = encode(&messages, true, &mut stream);
    let (mut back, mut seen) = (Vec::new(), 0);
    let whole = FrameReader::default().take(&stream, |body| {
        seen += 1;
        back.extend(parse(body, limits).expect("what we write can be read"));
    });
    assert_eq!((whole, seen, back), (Ok(()), frames, messages), "it reads back as it was");
}
