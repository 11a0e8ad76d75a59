//! The state of a connection as plain data.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::Serialize;

use super::congestion::ControlPhase;
use super::peer::UnicastPeer;
use super::receiver::Receiver;
use crate::time::Duration;
use crate::wire::unicast::UnicastConnId;

/// The state of one peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerView {
    pub peer: SocketAddr,
    /// The smoothed round-trip time, once known.
    pub rtt: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    pub sender: Option<SenderView>,
    pub receiver: Option<ReceiverView>,
}

/// The sending half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SenderView {
    pub conn: UnicastConnId,
    pub closing: bool,
    /// HA.
    pub highest_acked: u64,
    /// HS.
    pub highest_sent: u64,
    /// The last number assigned; those beyond HS are waiting.
    pub last: u64,
    /// The highest number the receiver has room for.
    pub limit: u64,
    /// Bytes buffered, and how many of them are in flight.
    pub bytes: u64,
    pub flight: u64,
    /// Bytes under way: in flight, neither arrived nor lost.
    pub under_way: u64,
    /// What the congestion control allows: bytes under way, and bytes per
    /// second; `None`: no limit.
    pub window: Option<u64>,
    pub rate: Option<u64>,
    /// The phase it is in.
    pub phase: ControlPhase,
    /// Bytes of a datagram.
    pub datagram: u32,
}

/// The receiving half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReceiverView {
    pub conn: UnicastConnId,
    pub closing: bool,
    /// The first number that has not arrived.
    pub next: u64,
    /// The highest number that has arrived.
    pub newest: u64,
    /// The highest number known to exist.
    pub shown: u64,
    /// How many numbers from `next` to `shown` are missing.
    pub missing: u64,
    /// Bytes that wait for earlier ones.
    pub held: u64,
    /// Delivered and not consumed yet.
    pub untaken_messages: u64,
    pub untaken_bytes: u64,
}

/// What a receiver has beyond the first missing number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowView {
    /// The first number that has not arrived.
    pub from: u64,
    /// For each number from there on, whether it has arrived.
    pub here: Vec<bool>,
    /// The missing ones, as ranges.
    pub missing: Vec<(u64, u64)>,
}

pub(super) fn window(receiver: &Receiver, most: usize) -> WindowView {
    let from = receiver.next();
    let end = from.saturating_add(most as u64).min(receiver.newest() + 1);
    let here: Vec<bool> = (from..end).map(|seq| receiver.has(seq)).collect();
    let mut missing: Vec<(u64, u64)> = Vec::new();
    for (seq, _) in (from..).zip(&here).filter(|(_, here)| !**here) {
        match missing.last_mut() {
            Some((_, last)) if *last + 1 == seq => *last = seq,
            _ => missing.push((seq, seq)),
        }
    }
    WindowView { from, here, missing }
}

pub(super) fn peer(addr: SocketAddr, peer: &UnicastPeer) -> PeerView {
    let sender = peer.sender.as_ref().map(|sender| {
        let (bytes, flight) = sender.bytes();
        let (allowed, phase) = sender.control();
        SenderView {
            conn: sender.conn,
            closing: sender.state.is_closing(),
            highest_acked: sender.highest_acked(),
            highest_sent: sender.highest_sent(),
            last: sender.last(),
            limit: sender.limit(),
            bytes,
            flight,
            under_way: sender.under_way(),
            window: Some(allowed.window).filter(|window| *window < u64::MAX),
            rate: allowed.rate,
            phase,
            datagram: peer.datagram_size(),
        }
    });
    let receiver = peer.receiver.as_ref().map(|receiver| {
        let (untaken_messages, untaken_bytes) = receiver.untaken();
        ReceiverView {
            conn: receiver.conn,
            closing: receiver.state.is_closing(),
            next: receiver.next(),
            newest: receiver.newest(),
            shown: receiver.shown(),
            missing: receiver.missing(),
            held: receiver.held_bytes(),
            untaken_messages,
            untaken_bytes,
        }
    });
    let (rtt, rto) = (peer.rtt.smoothed(), peer.rtt.timeout(0));
    PeerView { peer: addr, rtt, rto, sender, receiver }
}
