//! The last message to a peer whose transfer does not go on.

use std::time::Duration;

use super::message::TransferMessage;
use super::talk::Talk;
use crate::unicast::Connection;

/// How long a peer may take to answer the last message. Many end as soon as they have
/// read it, and then nothing comes.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// Tells a sender that its transfer is refused now.
pub async fn refuse(connection: Connection, why: &str) {
    fail(&Talk::over(connection), why).await;
}

/// Tells the peer what went wrong.
pub(super) async fn fail(talk: &Talk, why: &str) {
    last(talk, &TransferMessage::Failed { why: why.to_owned() }).await;
}

/// Tells the peer why this is the end.
pub(super) async fn last(talk: &Talk, message: &TransferMessage) {
    if talk.put(message).await.is_ok() {
        let _ = tokio::time::timeout(LAST_ANSWER, talk.connection.close()).await;
    }
}
