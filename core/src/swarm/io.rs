//! The inputs and outputs of the coordinator.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::ledger::LedgerRow;
use crate::id::ConnId;
use crate::wire::pdtp::{Hash, PdtpMessage, Text};

/// A file that the coordinator manages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileSpec {
    /// The URL by which all clients name it.
    pub url: Text,
    /// Its size in bytes.
    pub size: u64,
    /// Size of every piece but the last; at least 1.
    pub chunk: u64,
    /// The SHA-256 of every piece, in order.
    pub hashes: Arc<[Hash]>,
    /// The SHA-256 of the whole file, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Hash>,
}

/// Something that happened to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// A row of the ledger from the store; before any client connects.
    Restore(LedgerRow),
    /// A file to manage.
    Serve(FileSpec),
    /// A file is no longer available; the sentence says why. All its clients
    /// are told.
    Withdraw { url: Text, why: String },
    /// A source of all files, the piece server or a proxy (SW-9), and its
    /// number of slots. Given again to change that number.
    Source { addr: SocketAddr, slots: u32 },
    /// A client connected.
    Opened { conn: ConnId, peer: IpAddr },
    /// A client sent a message.
    Message { conn: ConnId, message: PdtpMessage },
    /// A client sent something that cannot be parsed; the sentence says why.
    Unreadable { conn: ConnId, why: String },
    /// The connection is gone.
    Closed { conn: ConnId },
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send a message to a client. Successive messages to one client in one
    /// turn may share a frame if the client supports `merge`.
    Send { conn: ConnId, message: PdtpMessage },
    /// Close a connection after what was sent.
    Close { conn: ConnId },
    /// Save the row, before any later output is carried out.
    Save(LedgerRow),
    /// Delete the row of this address from the store.
    Forget(IpAddr),
}
