//! How large a datagram may be on the way to a meeting place: its questions may be filled
//! up, so those that are answered have arrived.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use quinn_udp::UdpSocketState;
use servent_core::wire::meet::MeetPacket;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use crate::dice;
use crate::net::udp::any_address;

/// What is tried, in bytes behind the UDP header: those of RFC 8899's search (PA-6).
const SIZES: [usize; 5] = [1_200, 1_400, 1_452, 1_472, 8_952];
/// How often a question is sent; one may be lost.
const TRIES: usize = 2;
/// How long an answer may take.
const ANSWER: Duration = Duration::from_millis(400);

/// The bytes of the largest datagram that reaches a place whole, of a few sizes; `None`
/// when none is answered.
///
/// # Errors
/// The system has no socket, or no random bytes.
pub async fn largest_to_place(place: SocketAddr) -> io::Result<Option<usize>> {
    let socket = UdpSocket::bind(any_address(place)).await?;
    // What is too large is dropped then, and not cut up on the way.
    let _unfragmented = UdpSocketState::new((&socket).into())?;
    let first = u64::from_le_bytes(dice::draw()?);
    let mut largest = None;
    for _ in 0..TRIES {
        for (number, size) in numbered(first) {
            let mut question = MeetPacket::Question { nonce: number }.encode();
            question.resize(size, 0);
            // The system knows that some are too large for the way.
            let _ = socket.send_to(&question, place).await;
        }
        let until = Instant::now() + ANSWER;
        while let Ok(number) = timeout_at(until, answered(&socket)).await {
            let size = numbered(first).find(|(asked, _)| *asked == number).map(|(_, size)| size);
            largest = largest.max(size);
            if largest == SIZES.last().copied() {
                return Ok(largest);
            }
        }
    }
    Ok(largest)
}

/// Each size with the number of its question.
fn numbered(first: u64) -> impl Iterator<Item = (u64, usize)> {
    SIZES.into_iter().zip(0..).map(move |(size, n)| (first.wrapping_add(n), size))
}

/// The number of the next question that is answered.
async fn answered(socket: &UdpSocket) -> u64 {
    let mut buffer = [0; 512];
    loop {
        let Ok((bytes, _)) = socket.recv_from(&mut buffer).await else { continue };
        if let Ok(MeetPacket::Cookie { nonce, .. }) = MeetPacket::parse(&buffer[..bytes]) {
            return nonce;
        }
    }
}
