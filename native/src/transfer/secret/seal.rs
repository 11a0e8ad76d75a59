//! Deriving two keys from a code, and encrypting messages with them.
//!
//! SPAKE2 turns a code that both sides know into a key that no other host knows,
//! and allows an attacker one guess per meeting (key exchange). HKDF derives a
//! key for each direction. Messages arrive in order and exactly once, so their
//! number is the nonce: it is never sent, and never used twice, because each
//! meeting has its own keys.

use bytes::BytesMut;
use chacha20poly1305::aead::AeadInOut as _;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _};
use hkdf::Hkdf;
use servent_core::unicast::UnicastPayload;
use sha2::Sha256;
use spake2::{Ed25519Group, Identity, Password, Spake2};

use super::TransferCode;

/// How many bytes sealing adds to a message.
pub(in crate::transfer) const TAG: usize = 16;
const SENDER: &[u8] = b"servent transfer 2 sender";
const RECEIVER: &[u8] = b"servent transfer 2 receiver";

/// One side of a meeting, before it has received the other side's message.
pub(in crate::transfer) struct Meeting {
    state: Spake2<Ed25519Group>,
    sender: bool,
}

/// One direction of an encrypted connection.
pub(in crate::transfer) struct Half {
    cipher: ChaCha20Poly1305,
    /// Messages so far; the nonce of the next one.
    count: u64,
}

impl Meeting {
    /// Starts a meeting; also returns the message for the other side.
    pub(in crate::transfer) fn new(code: &TransferCode, sender: bool) -> (Self, Vec<u8>) {
        let (password, ours, theirs) =
            (Password::new(code.bytes()), Identity::new(SENDER), Identity::new(RECEIVER));
        let begin = if sender { Spake2::start_a } else { Spake2::start_b };
        let (state, told) = begin(&password, &ours, &theirs);
        (Self { state, sender }, told)
    }

    /// The halves for sending and receiving; `None` when the answer is invalid.
    /// Whether the codes were equal shows when the first message is opened.
    pub(in crate::transfer) fn finish(self, told: &[u8]) -> Option<(Half, Half)> {
        let key = self.state.finish(told).ok()?;
        let keys = Hkdf::<Sha256>::new(None, &key);
        let half = |whose: &[u8]| {
            let mut key = [0; 32];
            keys.expand(whose, &mut key).ok()?;
            Some(Half { cipher: ChaCha20Poly1305::new(&key.into()), count: 0 })
        };
        let (sender, receiver) = (half(SENDER)?, half(RECEIVER)?);
        Some(if self.sender { (sender, receiver) } else { (receiver, sender) })
    }
}

impl Half {
    /// A file of numbered chunks, encrypted with a key that is used for nothing
    /// else.
    pub(in crate::transfer) fn from_key(key: &[u8; 32]) -> Self {
        Self { cipher: ChaCha20Poly1305::new(key.into()), count: 0 }
    }

    /// Goes to a chunk of it.
    pub(in crate::transfer) const fn to(&mut self, number: u64) {
        self.count = number;
    }

    /// Encrypts the next message; `None` when the nonces are used up.
    pub(in crate::transfer) fn seal(&mut self, message: UnicastPayload) -> Option<UnicastPayload> {
        let mut bytes = message.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        let nonce = self.next()?;
        self.cipher.encrypt_in_place(&nonce.into(), b"", &mut bytes).ok()?;
        Some(bytes.freeze())
    }

    /// Decrypts the next message; `None` when the other side did not encrypt
    /// it.
    pub(in crate::transfer) fn open(&mut self, message: UnicastPayload) -> Option<UnicastPayload> {
        let mut bytes = message.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        let nonce = self.next()?;
        self.cipher.decrypt_in_place(&nonce.into(), b"", &mut bytes).ok()?;
        Some(bytes.freeze())
    }

    fn next(&mut self) -> Option<[u8; 12]> {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.count.to_be_bytes());
        self.count = self.count.checked_add(1)?;
        Some(nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(ours: &str, theirs: &str) -> [(Half, Half); 2] {
        let [ours, theirs] = [ours, theirs].map(|code| TransferCode::typed(code).unwrap());
        let (sender, a) = Meeting::new(&ours, true);
        let (receiver, b) = Meeting::new(&theirs, false);
        [sender.finish(&b).unwrap(), receiver.finish(&a).unwrap()]
    }

    #[test]
    fn only_a_peer_that_knows_the_code_is_understood() {
        let [(mut out, _), (_, mut into)] = meet("ocean-pepper-violin", "Ocean pepper violin");
        let text = UnicastPayload::from_static(b"the same words again");
        let sealed: Vec<UnicastPayload> = (0..3).map(|_| out.seal(text.clone()).unwrap()).collect();
        assert!(sealed.iter().all(|it| it.len() == text.len() + TAG && !it.starts_with(b"the")));
        assert!(sealed[0] != sealed[1], "a nonce is never used twice");
        for it in &sealed {
            assert_eq!(into.open(it.clone()), Some(text.clone()));
        }
        let [(mut out, _), (_, mut into)] = meet("ocean-pepper-violin", "ocean-pepper-viola");
        assert_eq!(into.open(out.seal(text).unwrap()), None);
    }

    #[test]
    fn what_was_changed_left_out_or_sent_back_is_not_opened() {
        let fresh = || meet("ocean-pepper-violin", "ocean-pepper-violin");
        let text = || UnicastPayload::from_static(b"words");
        let [(mut out, _), (_, mut into)] = fresh();
        let mut changed = out.seal(text()).unwrap().to_vec();
        changed[2] ^= 1;
        assert_eq!(into.open(changed.into()), None);
        let [(mut out, _), (_, mut into)] = fresh();
        out.seal(text()).unwrap();
        assert_eq!(into.open(out.seal(text()).unwrap()), None, "one was left out");
        let [(mut out, mut back), _] = fresh();
        assert_eq!(back.open(out.seal(text()).unwrap()), None, "it is our own");
        let [(mut out, _), _] = fresh();
        let [_, (_, mut into)] = fresh();
        assert_eq!(into.open(out.seal(text()).unwrap()), None, "it is of another meeting");
    }

    #[test]
    fn what_is_no_answer_makes_no_keys() {
        let code = TransferCode::typed("ocean-pepper-violin").unwrap();
        for told in [&b""[..], b"S", &[b'S'; 33], &[0xff; 40]] {
            assert!(Meeting::new(&code, true).0.finish(told).is_none(), "{told:?}");
        }
    }
}
