//! Compressed links: everything after the handshake is one zlib stream.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use miniz_oxide::deflate::core::{CompressorOxide, create_comp_flags_from_zip_params};
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use thiserror::Error;

/// Bytes inflated at a time.
const STEP: usize = 4_096;

/// How much a stream may inflate to. A peer that sends only one repeated byte
/// compresses a thousand to one; messages do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InflateLimits {
    /// Maximum bytes that one call may return.
    pub bytes: u32,
    /// Maximum ratio of inflated to received bytes, over the whole stream.
    pub ratio: u32,
}

/// Why a stream cannot be inflated any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum InflateError {
    /// It inflates to more than [`InflateLimits`] allow.
    #[error("the stream unpacks to too much")]
    Bomb,
    /// It is damaged.
    #[error("the stream is damaged")]
    Damaged,
}

/// Inflates what a peer sends.
#[derive(Clone)]
pub struct Inflater {
    state: Box<InflateState>,
    limits: InflateLimits,
    taken: u64,
    brought: u64,
}

impl Inflater {
    /// An inflater for a new stream.
    #[must_use]
    pub fn new(limits: InflateLimits) -> Self {
        Self { state: InflateState::new_boxed(DataFormat::Zlib), limits, taken: 0, brought: 0 }
    }

    /// Inflates received bytes.
    ///
    /// # Errors
    /// When the stream is damaged or inflates to too much.
    pub fn push(&mut self, mut input: &[u8]) -> Result<Vec<u8>, InflateError> {
        let mut out = Vec::new();
        let mut room = [0; STEP];
        loop {
            let done = inflate(&mut self.state, input, &mut room, MZFlush::None);
            self.taken += done.bytes_consumed as u64;
            self.brought += done.bytes_written as u64;
            input = &input[done.bytes_consumed..];
            out.extend_from_slice(&room[..done.bytes_written]);
            let fair = (self.taken + 64).saturating_mul(u64::from(self.limits.ratio));
            if out.len() > self.limits.bytes as usize || self.brought > fair {
                return Err(InflateError::Bomb);
            }
            match done.status {
                Ok(MZStatus::Ok) if !input.is_empty() || done.bytes_written == STEP => {}
                Ok(MZStatus::Ok | MZStatus::StreamEnd) | Err(MZError::Buf) => return Ok(out),
                Ok(MZStatus::NeedDict) | Err(_) => return Err(InflateError::Damaged),
            }
        }
    }
}

/// Compresses what we send.
#[derive(Clone)]
pub struct Deflater(Box<CompressorOxide>);

impl Default for Deflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Deflater {
    /// A compressor for a new stream.
    #[must_use]
    pub fn new() -> Self {
        Self(Box::new(CompressorOxide::new(create_comp_flags_from_zip_params(4, 15, 0))))
    }

    /// Compresses bytes so that the other end can inflate all of them at once.
    pub fn push(&mut self, mut input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut room = [0; STEP];
        loop {
            let done = deflate(&mut self.0, input, &mut room, MZFlush::Sync);
            input = &input[done.bytes_consumed..];
            out.extend_from_slice(&room[..done.bytes_written]);
            if done.bytes_written < STEP && input.is_empty() || done.status.is_err() {
                return out;
            }
        }
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inflater({} in, {} out)", self.taken, self.brought)
    }
}
impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deflater")
    }
}
