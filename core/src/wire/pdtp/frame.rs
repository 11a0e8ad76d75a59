//! Frames: a length, and so many bytes.

use alloc::vec::Vec;

use super::{PdtpLimits, PdtpMessage, print};

/// Maximum bytes of a frame after its length.
const MOST: usize = u16::MAX as usize;

/// Why a stream cannot be split any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PdtpFrameError {
    /// An empty frame, which cannot hold a message.
    #[error("an empty frame")]
    Empty,
    /// The frame is longer than agreed.
    #[error("a frame of {0} bytes")]
    TooLong(usize),
}

/// Splits a stream into frames. Keeps at most one incomplete frame.
///
/// ```
/// use servent_core::wire::pdtp::{self, PdtpLimits, PdtpMessage, FrameReader};
///
/// let message = PdtpMessage::AskInfo { url: "film".into() };
/// let mut stream = Vec::new();
/// pdtp::encode(&[message.clone()], false, &mut stream);
/// let mut heard = Vec::new();
/// FrameReader::default()
///     .take(&stream, |frame| heard.extend(pdtp::parse(frame, &PdtpLimits::default()).unwrap()))
///     .unwrap();
/// assert_eq!(heard, [message]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameReader {
    kept: Vec<u8>,
    most: usize,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl FrameReader {
    /// A reader for frames of at most `most` bytes.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most }
    }

    /// Adds received bytes, and passes each complete frame to `each`, in order.
    ///
    /// # Errors
    /// When a frame is empty or too long; the stream cannot be used any
    /// further.
    pub fn take(
        &mut self,
        mut data: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), PdtpFrameError> {
        loop {
            let wanted = self.wanted()?;
            let more = (wanted - self.kept.len()).min(data.len());
            let (now, later) = data.split_at(more);
            self.kept.extend_from_slice(now);
            data = later;
            if self.kept.len() < 2 {
                return Ok(());
            }
            if self.kept.len() == self.wanted()? {
                each(self.kept.get(2..).unwrap_or_default());
                self.kept.clear();
            } else if data.is_empty() {
                return Ok(());
            }
        }
    }

    /// The length of the frame being read, including its length field.
    fn wanted(&self) -> Result<usize, PdtpFrameError> {
        let Some((head, _)) = self.kept.split_first_chunk::<2>() else { return Ok(2) };
        match usize::from(u16::from_be_bytes(*head)) {
            0 => Err(PdtpFrameError::Empty),
            n if n > self.most => Err(PdtpFrameError::TooLong(n)),
            n => Ok(2 + n),
        }
    }
}

/// Writes messages as frames: one in each, or, when the other side supports
/// `merge`, as many as fit and are allowed in one (the default of
/// [`PdtpLimits::messages`]). Returns the number of frames.
pub fn encode(messages: &[PdtpMessage], merge: bool, into: &mut Vec<u8>) -> u32 {
    let most = PdtpLimits::default().messages;
    let (mut frames, mut joined) = (0, 0);
    let mut body = Vec::new();
    for message in messages {
        let text = print::message(message);
        // In a list of its own: `[` and `]` take 2 bytes, a comma 1.
        let joins = merge && joined < most && body.len() + text.len() < MOST;
        if !joins && !body.is_empty() {
            frames += finish(&mut body, into);
            joined = 0;
        }
        joined += 1;
        body.push(if body.is_empty() { b'[' } else { b',' });
        body.extend_from_slice(text.as_bytes());
    }
    frames + finish(&mut body, into)
}

/// Closes the list of a frame and writes the length before it.
fn finish(body: &mut Vec<u8>, into: &mut Vec<u8>) -> u32 {
    if body.is_empty() {
        return 0;
    }
    body.push(b']');
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
    into.extend_from_slice(&length.to_be_bytes());
    into.extend_from_slice(body.get(..usize::from(length)).unwrap_or_default());
    body.clear();
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_into_the_same_frames_however_it_arrives() {
        let stream = b"\x00\x02ab\x00\x01c\x00\x03def";
        for step in 1..=stream.len() {
            let mut reader = FrameReader::default();
            let mut frames = Vec::new();
            for part in stream.chunks(step) {
                assert_eq!(reader.take(part, |frame| frames.push(frame.to_vec())), Ok(()));
            }
            assert_eq!(frames, [&b"ab"[..], b"c", b"def"], "in steps of {step}");
        }
    }

    #[test]
    fn no_frame_has_more_messages_than_its_reader_takes() {
        let limits = PdtpLimits::default();
        let said: Vec<PdtpMessage> =
            (1..=600).map(|port| PdtpMessage::ChangePort { listen_port: Some(port) }).collect();
        let mut bytes = Vec::new();
        assert_eq!(encode(&said, true, &mut bytes), 3);
        let mut heard = Vec::new();
        let read = |frame: &[u8]| heard.extend(super::super::parse(frame, &limits).unwrap());
        assert_eq!(FrameReader::default().take(&bytes, read), Ok(()));
        assert_eq!(heard, said);
    }

    #[test]
    fn what_can_be_no_frame_ends_the_stream() {
        let mut none = |_: &[u8]| unreachable!("there is no frame");
        assert_eq!(FrameReader::default().take(b"\x00\x00", &mut none), Err(PdtpFrameError::Empty));
        let mut reader = FrameReader::new(100);
        assert_eq!(reader.take(b"\x00", &mut none), Ok(()));
        assert_eq!(reader.take(b"\x65", &mut none), Err(PdtpFrameError::TooLong(101)));
    }
}
