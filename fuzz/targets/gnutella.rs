//! A neighbour's stream: a handshake, plain or deflated messages.
#![no_main]

use servent_core::wire::gnutella::{
    FrameLimits, Framer, HandshakeOffer, HandshakeReply, Hello, InflateLimits, Inflater, Keywords,
    MessageBody, OverlayMessage, OverlayPayload, Qrp, ggep, parse_tries,
};
use servent_core::wire::http::HeadLimits;

const HEAD: HeadLimits = HeadLimits { bytes: 16_384, lines: 64 };

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(Some((Hello::New(headers), _))) = Hello::parse(data, &HEAD) {
        let _ = HandshakeOffer::parse(&headers);
    }
    if let Ok(Some((reply, _))) = HandshakeReply::parse(data, &HEAD) {
        let _ = parse_tries(&reply.headers);
    }
    let _ = ggep::parse(data, &ggep::GgepLimits { blocks: 32, bytes: 4_096 });
    read(data);
    let mut inflater = Inflater::new(InflateLimits { bytes: 1 << 16, ratio: 64 });
    if let Ok(plain) = inflater.push(data) {
        read(&plain);
    }
});

fn read(data: &[u8]) {
    let mut framer = Framer::new(FrameLimits { payload: 65_536 });
    for piece in data.chunks(37) {
        framer.push(OverlayPayload::copy_from_slice(piece));
        while let Ok(Some(frame)) = framer.next_frame() {
            let Ok(message) = OverlayMessage::parse(frame) else { continue };
            assert_eq!(message.to_bytes().len(), message.len());
            if let Some(bare) = message.without_ggep() {
                assert!(bare.len() <= message.len() && bare.kind() == message.kind());
                assert_eq!(bare.to_bytes().len(), bare.len());
            }
            if let MessageBody::Qrp(Qrp::Patch { seq, count, compressor, bits, data }) =
                &message.body
            {
                let mut table = Keywords::new(8);
                let _ = table.patch((*seq, *count), *compressor, *bits, data);
            }
            if let MessageBody::Hit(hit) = &message.body {
                assert_eq!(hit.results().count(), usize::from(hit.count()));
            }
        }
    }
}
