//! The sending side of a transfer.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use servent_core::unicast::Payload;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::message::{CHUNK, DATA, Message};
use crate::unicast::{Connection, Lost, SendError};

/// How often a sender without data says that it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// How long the receiver's goodbye is waited for.
const GOODBYE_WAIT: Duration = Duration::from_secs(2);

/// What arrived, as the receiver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Bytes.
    pub length: u64,
    /// Their SHA-256, the same on both sides.
    pub sum: [u8; 32],
}

/// Why a transfer did not come to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendFailure {
    /// Nobody has ever answered.
    #[error("nobody answers")]
    Nobody,
    /// The receiver was there, and is no longer.
    #[error("the receiver is gone: {why}")]
    Gone {
        /// How that shows.
        why: Lost,
    },
    /// The receiver does not take it, or could not keep it.
    #[error("the receiver says: {why}")]
    Refused {
        /// Bytes it had by then.
        length: u64,
        /// Its words.
        why: String,
    },
    /// What is to be sent cannot be read.
    #[error("cannot read what is to be sent: {0}")]
    Read(io::Error),
    /// It answers, and speaks something else.
    #[error("the other side is no receiver of this version")]
    Foreign,
}

/// Sends everything `from` has, and waits for the receiver's word that it
/// has the same bytes. `told` is called with the bytes read so far.
///
/// # Errors
/// Why it has not.
pub async fn send(
    connection: &Connection,
    name: &str,
    length: Option<u64>,
    mut from: impl AsyncRead + Unpin,
    mut told: impl FnMut(u64),
) -> Result<Sent, SendFailure> {
    let hello = Message::Hello { length, name: name.to_owned() };
    put(connection, hello.encode()).await?;
    let (mut hash, mut sent) = (Sha256::new(), 0);
    loop {
        let chunk = tokio::select! {
            // What the receiver says before the end is never good.
            answer = answer(connection) => return Err(early(connection, answer)),
            chunk = chunk(connection, &mut from) => chunk?,
        };
        if chunk.len() == 1 {
            break;
        }
        hash.update(&chunk[1..]);
        sent += chunk.len() as u64 - 1;
        tokio::select! {
            put = put(connection, chunk) => put?,
            answer = answer(connection) => return Err(early(connection, answer)),
        }
        told(sent);
    }
    let sum = hash.finalize().into();
    put(connection, Message::End { length: sent, sum }.encode()).await?;
    let answer = loop {
        match tokio::time::timeout(ALIVE_EVERY, answer(connection)).await {
            Ok(answer) => break answer,
            // Its disk or pipe may be slow; whether it is there shows so.
            Err(_) => put(connection, Message::Alive.encode()).await?,
        }
    };
    match answer {
        Ok(Some(Message::Whole { length })) if length == sent => {
            // It has everything; what follows is politeness.
            let _ = connection.close().await;
            let _ = tokio::time::timeout(GOODBYE_WAIT, connection.recv()).await;
            Ok(Sent { length, sum })
        }
        other => Err(early(connection, other)),
    }
}

/// Tells the receiver that nothing more will come.
pub async fn stop(connection: &Connection, why: &str) {
    let stopped = Message::Stopped { why: why.to_owned() };
    let said = async {
        if connection.send(stopped.encode()).await.is_ok() {
            let _ = connection.close().await; // It is over either way.
        }
    };
    let _ = tokio::time::timeout(GOODBYE_WAIT, said).await;
}

/// The next chunk with its first byte; nothing but that at the end.
async fn chunk(
    connection: &Connection,
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Payload, SendFailure> {
    let mut chunk = BytesMut::with_capacity(CHUNK + 1);
    chunk.extend([DATA]);
    while chunk.len() <= CHUNK {
        let mut rest = (&mut *from).take((CHUNK + 1 - chunk.len()) as u64);
        match tokio::time::timeout(ALIVE_EVERY, rest.read_buf(&mut chunk)).await {
            Ok(Ok(0)) => break,
            // A pipe's bytes leave as they come; a file fills the chunk.
            Ok(Ok(n)) if n < CHUNK / 8 => break,
            Ok(Ok(_)) => {}
            Ok(Err(why)) => {
                let stopped = Message::Stopped { why: why.to_string() };
                // The error of the source is the one to tell.
                let _ = connection.send(stopped.encode()).await;
                return Err(SendFailure::Read(why));
            }
            Err(_) => put(connection, Message::Alive.encode()).await?,
        }
    }
    Ok(chunk.freeze())
}

async fn put(connection: &Connection, payload: Payload) -> Result<(), SendFailure> {
    connection.send(payload).await.map_err(|error| match error {
        SendError::Lost(why) => gone(connection, why),
        SendError::TooLong { .. } => SendFailure::Foreign,
    })
}

/// The next thing the receiver says.
async fn answer(connection: &Connection) -> Result<Option<Message>, Lost> {
    let payload = connection.recv().await?;
    Ok(payload.as_ref().and_then(Message::parse))
}

fn early(connection: &Connection, answer: Result<Option<Message>, Lost>) -> SendFailure {
    match answer {
        Ok(Some(Message::Failed { length, why })) => SendFailure::Refused { length, why },
        Ok(_) => SendFailure::Foreign,
        Err(why) => gone(connection, why),
    }
}

fn gone(connection: &Connection, why: Lost) -> SendFailure {
    match connection.progress().acknowledged {
        0 => SendFailure::Nobody,
        _ => SendFailure::Gone { why },
    }
}
