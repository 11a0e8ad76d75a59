//! A sender that was not invited, and what is in an inbox: it finds out nothing
//! that it does not know already.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use servent::transfer::{InboxPlace, OfferedTransfer, ReceiveError, SecretDoor, TransferInbox};
use servent::unicast::{Connection, Endpoint, EndpointOptions};

const VERSION: u8 = 4;
const PIN: &[u8] = b"1234";

/// A receiver of an open inbox; each connection is a transfer of its own.
struct Receiver {
    endpoint: Endpoint,
    door: Arc<SecretDoor>,
    folder: tempfile::TempDir,
}

impl Receiver {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pin"), PIN).unwrap();
        let endpoint = bound().await;
        Self { endpoint, door: Arc::new(SecretDoor::open()), folder }
    }

    fn at(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }

    /// Receives one transfer, whatever comes of it.
    async fn receive(&self) -> Result<(), ReceiveError> {
        let connection = self.endpoint.accept().await.unwrap();
        let mut transfer = OfferedTransfer::hello(connection, &self.door).await?;
        let place = InboxPlace::Folder(self.folder.path().to_owned());
        transfer.receive(TransferInbox::new(place, Arc::default()), |_| {}).await
    }
}

async fn bound() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), EndpointOptions::default()).await.unwrap()
}

/// What a receiver answers to a proof.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    There,
    From(u64),
    Refused,
}

/// Offers a file of the same name and length, and returns the key that its proof
/// is asked for with.
async fn offer(connection: &Connection) -> [u8; 32] {
    let length = (PIN.len() as u64).to_be_bytes();
    connection.send(vec![0, VERSION]).await.unwrap();
    let entry = [&[5][..], &length, &[0; 13], &3_u16.to_be_bytes(), b"pin"].concat();
    connection.send(entry).await.unwrap();
    connection.send([&[6][..], &1_u32.to_be_bytes()].concat()).await.unwrap();
    let has = said(connection, 18).await;
    assert_eq!(has[5..13], length, "all of it is to be proved");
    has[13..].try_into().unwrap()
}

/// The next message of this kind.
async fn said(connection: &Connection, kind: u8) -> Vec<u8> {
    loop {
        let message = connection.recv().await.unwrap().expect("it goes on");
        if message[0] == kind {
            return message.to_vec();
        }
    }
}

async fn prove(connection: &Connection, length: u64, proof: [u8; 32]) -> Answer {
    let message = [&[7, 0, 0, 0, 0][..], &length.to_be_bytes(), &proof].concat();
    connection.send(message).await.unwrap();
    loop {
        let message = connection.recv().await.unwrap().expect("it goes on");
        match message[0] {
            22 => return Answer::There,
            20 => return Answer::From(u64::from_be_bytes(message[5..].try_into().unwrap())),
            17 => return Answer::Refused,
            _ => {}
        }
    }
}

/// What a sender that has this content would send.
fn proof(key: &[u8; 32], content: &[u8]) -> [u8; 32] {
    blake3::keyed_hash(key, blake3::hash(content).as_bytes()).into()
}

/// Connects and guesses.
async fn guess(receiver: &Receiver, length: u64, content: &[u8]) -> Answer {
    let stranger = bound().await;
    let connection = stranger.connect(receiver.at()).unwrap();
    let tried = async {
        let key = offer(&connection).await;
        let answer = prove(&connection, length, proof(&key, content)).await;
        let _ = connection.send([&[4][..], b"enough"].concat()).await;
        answer
    };
    let (answer, ended) = tokio::join!(tried, receiver.receive());
    assert!(ended.is_err(), "it never sends the file");
    answer
}

fn unchanged(folder: &Path) {
    assert_eq!(std::fs::read(folder.join("pin")).unwrap(), PIN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_of_a_part_of_what_is_there_is_none() {
    let receiver = Receiver::new().await;
    for length in 0..4_u8 {
        let known = &PIN[..usize::from(length)];
        assert_eq!(guess(&receiver, u64::from(length), known).await, Answer::Refused, "{length}");
    }
    assert_eq!(guess(&receiver, 4, PIN).await, Answer::There);
    unchanged(receiver.folder.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_that_was_overheard_proves_nothing_in_another_transfer() {
    let receiver = Receiver::new().await;
    let (first, second) = (bound().await, bound().await);
    let tried = async {
        let connection = first.connect(receiver.at()).unwrap();
        let overheard = proof(&offer(&connection).await, PIN);
        assert_eq!(prove(&connection, 4, overheard).await, Answer::There);
        connection.send([&[4][..], b"enough"].concat()).await.unwrap();
        let connection = second.connect(receiver.at()).unwrap();
        offer(&connection).await;
        let answer = prove(&connection, 4, overheard).await;
        let _ = connection.send([&[4][..], b"enough"].concat()).await;
        answer
    };
    let twice = async { (receiver.receive().await, receiver.receive().await) };
    let (answer, _) = tokio::join!(tried, twice);
    assert_eq!(answer, Answer::From(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_proofs_are_counted_like_wrong_codes() {
    let receiver = Receiver::new().await;
    for n in 0..5 {
        assert_eq!(guess(&receiver, 4, format!("000{n}").as_bytes()).await, Answer::From(0));
    }
    assert_eq!(guess(&receiver, 4, PIN).await, Answer::From(0), "nothing is compared any more");
    unchanged(receiver.folder.path());
}

/// The first sender has died in the middle; another one says the same name and that
/// it begins, without a proof.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_stays_as_it_is_for_a_sender_that_proves_nothing() {
    let receiver = Receiver::new().await;
    let part = receiver.folder.path().join("film.part");
    std::fs::write(&part, [7; 100_000]).unwrap();
    let stranger = bound().await;
    let connection = stranger.connect(receiver.at()).unwrap();
    let sent = async {
        let length = 200_000_u64.to_be_bytes();
        connection.send(vec![0, VERSION]).await.unwrap();
        let entry = [&[5][..], &length, &[0; 13], &4_u16.to_be_bytes(), b"film"].concat();
        connection.send(entry).await.unwrap();
        connection.send([&[6][..], &1_u32.to_be_bytes()].concat()).await.unwrap();
        said(&connection, 19).await;
        connection.send([&[8, 0, 0, 0, 0][..], &[0; 8]].concat()).await.unwrap();
        connection.send(b"\x01mine".to_vec()).await.unwrap();
        let sum = *blake3::hash(b"mine").as_bytes();
        let end = [&[2][..], &4_u64.to_be_bytes(), &sum].concat();
        connection.send(end).await.unwrap();
        said(&connection, 21).await;
        let _ = connection.send([&[4][..], b"enough"].concat()).await;
    };
    let ((), ended) = tokio::join!(sent, receiver.receive());
    assert!(ended.is_err());
    assert!(std::fs::read(&part).unwrap() == [7; 100_000], "it is another sender's");
    assert_eq!(std::fs::read(receiver.folder.path().join("film (2)")).unwrap(), b"mine");
}
