//! Bytes that the system has accepted from us and the peer has not
//! acknowledged.
#![expect(unsafe_code, reason = "no library asks the system this question safely")]

use std::os::fd::AsFd;

use rustix::ioctl::{Getter, ioctl};

/// `SIOCOUTQ`, as Linux numbers it on every machine we build for.
const BYTES_NOT_ACKNOWLEDGED: rustix::ioctl::Opcode = 0x5411;

/// Bytes written to a socket that its peer has not acknowledged. The system
/// buffers megabytes for a peer that reads kilobytes, so only this tells how
/// fast a reader is.
pub(crate) fn unacknowledged(stream: impl AsFd) -> u64 {
    // SAFETY: the call writes one C integer and reads nothing of ours.
    let bytes = unsafe { ioctl(stream, Getter::<BYTES_NOT_ACKNOWLEDGED, i32>::new()) };
    bytes.ok().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}
