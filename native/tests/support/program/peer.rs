//! A neighbour of the overlay made by hand, which may do what it must not.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use servent_core::id::Guid;
use servent_core::wire::gnutella::{
    FrameLimits, Framer, MessageBody, OverlayMessage, Query, Wishes,
};

use super::PATIENCE;

/// The longest a neighbour may need to work off what was sent to it.
const LONG: Duration = Duration::from_secs(120);

/// A neighbour.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    framer: Framer,
}

impl Peer {
    /// Shakes hands; `more` are further lines of the last head.
    pub(crate) fn join(at: SocketAddr, more: &str) -> Self {
        let mut stream = TcpStream::connect_timeout(&at, PATIENCE).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        let hello = "GNUTELLA CONNECT/0.6\r\nUser-Agent: Test\r\nBye-Packet: 0.1\r\nGGEP: 0.5\r\n\
                     X-Ultrapeer: True\r\n\r\n";
        stream.write_all(hello.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"GNUTELLA/0.6 200"), "{}", String::from_utf8_lossy(&head));
        stream.write_all(format!("GNUTELLA/0.6 200 OK\r\n{more}\r\n").as_bytes()).unwrap();
        let mut peer = Self { stream, framer: Framer::new(FrameLimits { payload: 65_536 }) };
        // The first ping says that it is a neighbour now; before, what others
        // ask does not come here.
        peer.until(|message| matches!(message.body, MessageBody::Ping(_)));
        peer
    }

    /// Sends bytes; the other side may have gone already.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    pub(crate) fn say(&mut self, message: &OverlayMessage) -> bool {
        self.send(&message.to_bytes())
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<OverlayMessage> {
        loop {
            if let Some(frame) = self.framer.next_frame().unwrap() {
                return Some(OverlayMessage::parse(frame).unwrap());
            }
            let mut some = [0; 16_384];
            match self.stream.read(&mut some) {
                Ok(0) => return None,
                Ok(n) => self.framer.push(some[..n].to_vec().into()),
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("nothing for {LONG:?}: {e}"),
            }
        }
    }

    /// Reads until one fits.
    pub(crate) fn until(&mut self, fits: impl Fn(&OverlayMessage) -> bool) -> OverlayMessage {
        loop {
            let message = self.next().expect("the neighbour hung up");
            if fits(&message) {
                return message;
            }
        }
    }

    /// Reads to the end: the code of the goodbye, if there was one.
    pub(crate) fn goodbye(&mut self) -> Option<u16> {
        let mut code = None;
        while let Some(message) = self.next() {
            assert!(code.is_none(), "nothing follows a goodbye");
            if let MessageBody::Bye(bye) = message.body {
                code = Some(bye.code);
            }
        }
        code
    }
}

/// A GUID by number.
pub(crate) fn guid(n: u64) -> Guid {
    let mut id = [0x5a; 16];
    id[..8].copy_from_slice(&n.to_le_bytes());
    Guid(id)
}

/// A query.
pub(crate) fn query(n: u64, words: &str) -> OverlayMessage {
    let body = MessageBody::Query(Query::new(Wishes::default(), words, &[]));
    OverlayMessage { guid: guid(n), ttl: 4, hops: 2, body }
}
