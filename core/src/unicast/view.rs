//! What a connection looks like from outside.
#![allow(missing_docs)] // The fields are named by what they hold.

use core::net::SocketAddr;

use serde::Serialize;

use super::peer::Peer;
use crate::time::Duration;
use crate::wire::unicast::Conn;

/// One peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerView {
    pub peer: SocketAddr,
    /// Smoothed, as far as known.
    pub rtt: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    pub sender: Option<SenderView>,
    pub receiver: Option<ReceiverView>,
}

/// The half that sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SenderView {
    pub conn: Conn,
    pub closing: bool,
    /// HA.
    pub highest_acked: u64,
    /// HS.
    pub highest_sent: u64,
    /// The last number given to a message; beyond HS they wait.
    pub last: u64,
    /// The highest number the receiver has room for.
    pub limit: u64,
    /// Bytes kept, and of these under way.
    pub bytes: u64,
    pub flight: u64,
}

/// The half that receives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReceiverView {
    pub conn: Conn,
    pub closing: bool,
    /// The first number that has not arrived.
    pub next: u64,
    /// The highest that has.
    pub newest: u64,
    /// Missing between the two.
    pub missing: u64,
    /// Bytes that wait here for earlier ones.
    pub held: u64,
    /// Delivered and not consumed.
    pub untaken_messages: u64,
    pub untaken_bytes: u64,
}

pub(super) fn peer(addr: SocketAddr, peer: &Peer) -> PeerView {
    let sender = peer.sender.as_ref().map(|sender| {
        let (bytes, flight) = sender.bytes();
        SenderView {
            conn: sender.conn,
            closing: sender.state.is_closing(),
            highest_acked: sender.highest_acked(),
            highest_sent: sender.highest_sent(),
            last: sender.last(),
            limit: sender.limit(),
            bytes,
            flight,
        }
    });
    let receiver = peer.receiver.as_ref().map(|receiver| {
        let (untaken_messages, untaken_bytes) = receiver.untaken();
        ReceiverView {
            conn: receiver.conn,
            closing: receiver.state.is_closing(),
            next: receiver.next(),
            newest: receiver.newest(),
            missing: receiver.missing(),
            held: receiver.held_bytes(),
            untaken_messages,
            untaken_bytes,
        }
    });
    let (rtt, rto) = (peer.rtt.smoothed(), peer.rtt.timeout(0));
    PeerView { peer: addr, rtt, rto, sender, receiver }
}
