//! Who may be served: checks one name and one password (RFC 7617), of which
//! only the Argon2 hash is kept.

use std::sync::{Arc, OnceLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use data_encoding::BASE64;
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, Input};
use tokio::sync::Semaphore;

use crate::net::{Report, Reports};

/// Checks at one time: each is expensive on purpose.
const AT_ONCE: usize = 2;

/// Why a password cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// The configured hash cannot be parsed.
    #[error("the hash cannot be read: {0}")]
    Hash(#[source] argon2::password_hash::phc::Error),
    /// The system has no random bytes for a salt, or no memory to hash with.
    #[error("it cannot be hashed: {0}")]
    System(#[source] argon2::password_hash::Error),
}

/// A name and the hash of a password.
#[derive(Debug, Clone)]
pub struct Password {
    pub(super) user: String,
    hash: String,
}

impl Password {
    /// `secret` is the password, or its Argon2 hash in the form that begins
    /// with `$argon2`.
    ///
    /// # Errors
    /// The hash cannot be read, or the system has no random bytes for a salt.
    pub fn new(user: &str, secret: &str) -> Result<Self, PasswordError> {
        let hash = if secret.starts_with("$argon2") {
            PasswordHash::new(secret).map_err(PasswordError::Hash)?;
            secret.to_owned()
        } else {
            let hash = Argon2::default().hash_password(secret.as_bytes());
            hash.map_err(PasswordError::System)?.to_string()
        };
        Ok(Self { user: user.to_owned(), hash })
    }

    /// True for credentials with the right name and password. Slow on purpose.
    fn admits(&self, words: &str) -> bool {
        let basic = words.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("basic"));
        let pair = basic.and_then(|(_, rest)| BASE64.decode(rest.trim().as_bytes()).ok());
        let Some(pair) = pair.and_then(|pair| String::from_utf8(pair).ok()) else { return false };
        let Some((user, password)) = pair.split_once(':') else { return false };
        // A wrong name costs as much time as a wrong password.
        let known = PasswordHash::new(&self.hash).is_ok_and(|hash| {
            Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
        });
        known && user == self.user
    }
}

/// Checks credentials on another thread; they are never right when no password
/// is set.
pub(super) fn authenticate(
    password: Option<Arc<Password>>,
    conn: ConnId,
    words: String,
    to: Reports,
) {
    static ROOM: OnceLock<Semaphore> = OnceLock::new();
    tokio::spawn(async move {
        let room = ROOM.get_or_init(|| Semaphore::new(AT_ONCE));
        let Ok(_permit) = room.acquire().await else { return };
        let judged = tokio::task::spawn_blocking(move || {
            password.is_some_and(|password| password.admits(&words))
        });
        let good = judged.await.unwrap_or(false);
        let _ = to
            .send(Report::Input(Input::Connection(conn, ConnInput::Authenticated { good })))
            .await; // It may have ended.
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_both_words_together_are_right() {
        let plain = Password::new("alice", "open: sesame").unwrap();
        let kept = Password::new("alice", &plain.hash).unwrap();
        let words = |pair: &str| format!("basic {}", BASE64.encode(pair.as_bytes()));
        for password in [plain, kept] {
            assert!(password.admits(&words("alice:open: sesame")));
            for wrong in ["alice:open", "bob:open: sesame", "alice:", "alice", ":open: sesame"] {
                assert!(!password.admits(&words(wrong)), "{wrong}");
            }
            assert!(!password.admits("Bearer alice:open: sesame") && !password.admits(""));
        }
        let broken = Password::new("alice", "$argon2id$nonsense").unwrap_err();
        assert!(matches!(broken, PasswordError::Hash(_)), "{broken}");
    }
}
