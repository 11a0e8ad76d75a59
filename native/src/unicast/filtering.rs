//! What the router before us lets in, as a meeting place with two ports shows it
//! (RFC 4787 §5): from a socket that has written to one of them alone, the place is asked
//! to answer from the other.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use servent_core::wire::meet::MeetPacket;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::dice;
use crate::net::udp::{any_address, canonical};

/// How often a question is sent; one may be lost.
const TRIES: usize = 4;
/// How long an answer may take.
const ANSWER: Duration = Duration::from_millis(400);

/// Which datagrams a router lets in, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NatFiltering {
    /// The place has one port, or does not answer.
    #[default]
    Unknown,
    /// Those of hosts that were never written to: a place with two addresses has shown
    /// that.
    EndpointIndependent,
    /// Those of all ports of a host that was written to; perhaps those of other hosts,
    /// too.
    AddressDependent,
    /// Those of the very port that was written to.
    AddressAndPortDependent,
}

/// Asks a place what the router before us lets in.
///
/// # Errors
/// The system has no socket, or no random bytes.
pub async fn filtering(place: SocketAddr) -> io::Result<NatFiltering> {
    let socket = UdpSocket::bind(any_address(place)).await?;
    let [number, nonce] = [dice::draw()?, dice::draw()?].map(u64::from_le_bytes);
    let mut cookie = None;
    for _ in 0..TRIES {
        let question = MeetPacket::Question { nonce: number };
        socket.send_to(&question.encode(), place).await?;
        if let Some((_, MeetPacket::Cookie { cookie: ours, .. })) = next(&socket, number).await {
            cookie = Some(ours);
            break;
        }
    }
    let Some(cookie) = cookie else { return Ok(NatFiltering::Unknown) };
    let mut confirmed = false;
    for _ in 0..TRIES {
        let elsewhere = MeetPacket::Elsewhere { nonce, cookie };
        socket.send_to(&elsewhere.encode(), place).await?;
        while let Some((from, answer)) = next(&socket, nonce).await {
            match answer {
                MeetPacket::Cookie { .. } if from.ip() != place.ip() => {
                    return Ok(NatFiltering::EndpointIndependent);
                }
                MeetPacket::Cookie { .. } if from != place => {
                    return Ok(NatFiltering::AddressDependent);
                }
                MeetPacket::Waiting { .. } if from == place => confirmed = true,
                _ => {}
            }
        }
    }
    // A place that does not confirm it knows no such question.
    Ok(if confirmed { NatFiltering::AddressAndPortDependent } else { NatFiltering::Unknown })
}

/// The next answer with this number, which only the place knows; `None` when it takes too long.
async fn next(socket: &UdpSocket, number: u64) -> Option<(SocketAddr, MeetPacket)> {
    let answer = async {
        let mut buffer = [0; 512];
        loop {
            let (bytes, from) = socket.recv_from(&mut buffer).await.ok()?;
            let (from, packet) = (canonical(from), MeetPacket::parse(&buffer[..bytes]));
            if let Ok(packet @ (MeetPacket::Cookie { nonce, .. } | MeetPacket::Waiting { nonce })) =
                packet
                && nonce == number
            {
                return Some((from, packet));
            }
        }
    };
    timeout(ANSWER, answer).await.ok().flatten()
}
