//! What the processes of a measurement are told, and what they say.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Contender {
    /// Ours, with datagrams of at most so many bytes.
    Ours {
        mtu: u32,
    },
    Enet,
    Quinn,
    /// The kernel's, with CUBIC.
    Tcp,
    /// The same with BBR.
    TcpBbr,
}

/// What sender and receiver have to know.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) contender: Contender,
    /// Where the receiver listens.
    pub(crate) on: IpAddr,
    /// Bytes of a message.
    pub(crate) size: usize,
    /// From the first message until the measuring begins.
    pub(crate) warm_ms: u64,
    /// How long it is measured.
    pub(crate) measure_ms: u64,
    /// The sender sends so many and closes; 0: until it is told to stop.
    pub(crate) count: u64,
}

/// What a process is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Part {
    Receive(Job),
    Send(Job, Ready),
    Forward(Way),
    /// Sends every message back.
    Echo,
    /// Sends one message after the other, each alone, and tells of each how
    /// many microseconds it took there and back, and whether it was sent again.
    Ping {
        to: Ready,
        count: u32,
    },
}

/// Where a process listens.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) at: SocketAddr,
    /// The certificate to be trusted, for those who encrypt.
    pub(crate) certificate: Vec<u8>,
}

/// What a receiver counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) messages: u64,
    pub(crate) seconds: f64,
    /// Messages since the first, measured or not.
    pub(crate) all: u64,
    /// The contender's own counters.
    pub(crate) counters: Value,
}

/// What to do to the datagrams.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Way {
    /// The receiver.
    pub(crate) to: SocketAddr,
    /// Of ten thousand datagrams each way so many are lost.
    pub(crate) loss: u64,
    /// How long each one waits.
    pub(crate) delay_us: u64,
    pub(crate) seed: u64,
    /// Of the sender's datagrams with a lone message every so manieth is
    /// lost besides; 0: none.
    pub(crate) every: u64,
}

/// What it did to the datagrams of one direction.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    pub(crate) lost: u64,
    pub(crate) lost_bytes: u64,
}
