//! Sockets that are not told when a datagram arrived.
#![expect(unsafe_code, reason = "no library sets this option safely")]

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd as _};
use std::{io, ptr};

/// Takes back what `quinn-udp` asks for and this program does not read. What the system
/// says of a train of datagrams is longer than the room that `quinn-udp` 0.6 has for
/// it, and the mark of congestion is what is cut off.
pub(super) fn omit_arrival_times(socket: impl AsFd) -> io::Result<()> {
    let off: c_int = 0;
    let size = size_of_val(&off) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the call reads one C integer, which outlives it, from an open socket.
    let done = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            ptr::from_ref(&off).cast(),
            size,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
