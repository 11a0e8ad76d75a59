//! RFC 6455 read a second time, from the text and without a library: what a
//! stream of frames says. It is what the program's reading is compared with.

/// What a stream of frames says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ParsedFrames {
    /// What is inside the binary messages that are whole, one after the other.
    pub(crate) binary: Vec<u8>,
    /// Frames that are whole, of any kind.
    pub(crate) frames: usize,
    pub(crate) end: End,
}

/// How it ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    /// In the middle, or after a frame.
    #[default]
    More,
    /// With a goodbye, and its code if it has one.
    Close(Option<u16>),
    /// With a frame that neither side may send.
    Wrong,
    /// With text, which may be wrong, and is never accepted.
    Text,
}

struct Frame<'a> {
    last: bool,
    kind: u8,
    payload: Vec<u8>,
    rest: &'a [u8],
}

/// What one of those who speak has sent; `most` are the bytes of a message.
pub(crate) fn read(mut data: &[u8], by_client: bool, most: usize) -> ParsedFrames {
    let mut told = ParsedFrames::default();
    let mut begun: Option<Vec<u8>> = None;
    loop {
        let frame = match frame(data, by_client, most) {
            Ok(Some(frame)) => frame,
            Ok(None) => return told,
            Err(()) => return ParsedFrames { end: End::Wrong, ..told },
        };
        data = frame.rest;
        told.frames += 1;
        let end = match (frame.kind, &mut begun) {
            (8, _) => Some(close(&frame.payload)),
            (9 | 10, _) => None,
            (0, Some(message)) => {
                message.extend(&frame.payload);
                (message.len() > most).then_some(End::Wrong)
            }
            (2, None) => {
                begun = Some(frame.payload);
                None
            }
            (1, None) => Some(End::Text),
            _ => Some(End::Wrong),
        };
        if let Some(end) = end {
            return ParsedFrames { end, ..told };
        }
        if frame.kind < 8 && frame.last {
            told.binary.extend(begun.take().unwrap_or_default());
        }
    }
}

/// The next frame, if it is whole (§5.2).
fn frame(data: &[u8], by_client: bool, most: usize) -> Result<Option<Frame<'_>>, ()> {
    let [first, second, rest @ ..] = data else { return Ok(None) };
    let (kind, short) = (first & 15, usize::from(second & 127));
    let wide = match short {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let masked = second & 128 != 0;
    let Some((head, rest)) = rest.split_at_checked(wide + if masked { 4 } else { 0 }) else {
        return Ok(None);
    };
    let (length, mask) = head.split_at(wide);
    let length = if wide == 0 {
        short as u64
    } else {
        length.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    if !matches!(kind, 0..=2 | 8..=10) || length > most as u64 {
        return Err(());
    }
    let Some((payload, rest)) = rest.split_at_checked(length as usize) else { return Ok(None) };
    let last = first & 128 != 0;
    let is_small = kind < 8 || last && length <= 125;
    if first & 0x70 != 0 || masked != by_client || !is_small {
        return Err(());
    }
    let bytes = payload.iter().enumerate();
    let payload = bytes.map(|(n, byte)| byte ^ mask.get(n % 4).unwrap_or(&0)).collect();
    Ok(Some(Frame { last, kind, payload, rest }))
}

/// A goodbye (§5.5.1).
fn close(payload: &[u8]) -> End {
    match payload {
        [] => End::Close(None),
        [_] => End::Wrong,
        [high, low, ..] => End::Close(Some(u16::from_be_bytes([*high, *low]))),
    }
}
