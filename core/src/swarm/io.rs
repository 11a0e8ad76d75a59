//! What goes into the coordinator and what comes out of it.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::ledger::Row;
use crate::id::ConnId;
use crate::wire::pdtp::{Hash, Message, Text};

/// A file the coordinator answers for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileSpec {
    /// What everybody calls it.
    pub url: Text,
    /// Its bytes.
    pub size: u64,
    /// Bytes of every piece but the last; at least 1.
    pub chunk: u64,
    /// The SHA-256 of every piece, in order.
    pub hashes: Arc<[Hash]>,
    /// The SHA-256 of all of it, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Hash>,
}

/// Something for the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// A row of the ledger, from the store; before any client.
    Restore(Row),
    /// A file to answer for.
    Serve(FileSpec),
    /// A file is not to be had any more; the sentence says why. Everybody on
    /// it is told.
    Withdraw { url: Text, why: String },
    /// Where all files can be had from: the piece server or a proxy (SW-9),
    /// so many transfers at once. Again with other slots to change them.
    Source { addr: SocketAddr, slots: u32 },
    /// Somebody connected.
    Opened { conn: ConnId, peer: IpAddr },
    /// It said something.
    Message { conn: ConnId, message: Message },
    /// It said something that can not be read; the sentence says why.
    Unreadable { conn: ConnId, why: String },
    /// The connection is gone.
    Closed { conn: ConnId },
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Say it to the client. Messages to one client that follow each other in
    /// one turn may share a frame if it understands `merge`.
    Send { conn: ConnId, message: Message },
    /// Hang up after what was sent.
    Close { conn: ConnId },
    /// Write the row to the store before anything that follows leaves.
    Save(Row),
    /// The row of this address is not needed any more.
    Forget(IpAddr),
}
