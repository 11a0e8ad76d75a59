//! Pages connect by WebSocket to the port of everything else.

use crate::common;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use common::{PATIENCE, Raw, header, shared, sharing, start, until};
use servent::Origins;
use servent::driver::{Handle, ServentOptions};
use servent_core::time::Duration;
use tungstenite::client::{IntoClientRequest as _, client};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, HandshakeError, Message, WebSocket};

const TARGET: &str = "/get/0/file.bin";

/// What a browser sends.
const UPGRADE: [(&str, &str); 6] = [
    ("Upgrade", "websocket"),
    ("Connection", "keep-alive, Upgrade"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Protocol", "other, servent.1"),
    ("Origin", "http://127.0.0.1:6380"),
];

pub(crate) fn admitting(mut options: ServentOptions) -> ServentOptions {
    let allowed = vec![String::from("https://room.example.org")];
    options.origins = Some(Origins { ports: vec![6380], allowed });
    options
}

/// The bytes of a page, written and read as a stream.
pub(crate) struct Page {
    pub(crate) socket: WebSocket<TcpStream>,
    read: Vec<u8>,
}

impl Page {
    pub(crate) fn open(at: SocketAddr) -> Self {
        Self::try_open(at, "").expect("an answer")
    }

    /// Opens a path below that of the servent; `Err` is the status of a refusal.
    pub(crate) fn try_open(at: SocketAddr, path: &str) -> Result<Self, u16> {
        Self::knock(at, path).unwrap_or_else(|why| panic!("{why}"))
    }

    /// `None` when the connection is closed without an answer.
    pub(crate) fn may_open(at: SocketAddr) -> Option<Self> {
        Self::knock(at, "").ok()?.ok()
    }

    /// The outer error is that of the connection.
    fn knock(at: SocketAddr, path: &str) -> Result<Result<Self, u16>, String> {
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("ws://{at}/servent{path}").into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", "servent.1".parse().unwrap());
        headers.insert("Origin", "http://127.0.0.1:6380".parse().unwrap());
        let (socket, response) = match client(request, stream) {
            Ok(opened) => opened,
            Err(HandshakeError::Failure(Error::Http(refused))) => {
                return Ok(Err(refused.status().as_u16()));
            }
            Err(other) => return Err(other.to_string()),
        };
        assert_eq!(response.headers()["sec-websocket-protocol"], "servent.1");
        Ok(Ok(Self { socket, read: Vec::new() }))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).unwrap();
    }

    pub(crate) fn take(&mut self, n: usize) -> Vec<u8> {
        while self.read.len() < n {
            match self.socket.read().unwrap() {
                Message::Binary(data) => self.read.extend_from_slice(&data),
                other => assert!(matches!(other, Message::Pong(_)), "{other}"),
            }
        }
        self.read.drain(..n).collect()
    }

    pub(crate) fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.take(1));
        }
        String::from_utf8(head).unwrap()
    }

    /// True when a request is answered.
    pub(crate) fn is_served(&mut self) -> bool {
        let request = Message::binary(&b"GET /get/0/no HTTP/1.1\r\nHost: x\r\n\r\n"[..]);
        self.socket.send(request).is_ok()
            && matches!(self.socket.read(), Ok(Message::Binary(reply)) if !reply.is_empty())
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(self.take(1));
        }
        String::from_utf8(line).unwrap()
    }

    /// The code with which the servent closes.
    pub(crate) fn closed(&mut self) -> CloseCode {
        loop {
            match self.socket.read().unwrap() {
                Message::Close(why) => return why.expect("a code").code,
                Message::Binary(_) | Message::Pong(_) => {}
                other => panic!("{other}"),
            }
        }
    }
}

/// Runs blocking code beside the servent.
pub(crate) async fn beside<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(act).await.unwrap()
}

/// Nothing of the connections remains at the node.
async fn all_gone(servent: &Handle) {
    until("the connections are gone", async || servent.view(1, 0).await.unwrap().connections == 0)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wb_1_a_page_gets_a_file_byte_for_byte_and_asks_again() {
    let (files, bytes) = shared("file.bin", 3_000_000);
    let state = tempfile::tempdir().unwrap();
    let servent = start(admitting(sharing(state.path(), files.path(), 1, 1))).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let mut page = Page::open(at);
        // In pieces, with pings between: the stream does not know its messages.
        for piece in format!("GET {TARGET} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes().chunks(7) {
            page.send(piece);
            page.socket.send(Message::Ping("?".into())).unwrap();
            page.send(b"");
        }
        let head = page.head();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_eq!(header(&head, "content-length"), Some("3000000"));
        assert!(page.take(3_000_000) == bytes);
        page.send(b"GET /get/9/no HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let head = page.head();
        assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
        assert_eq!(page.closed(), CloseCode::Normal);
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_becomes_a_neighbour_and_leaves() {
    let state = tempfile::tempdir().unwrap();
    let mut options = admitting(ServentOptions::under(state.path()));
    options.node.overlay.enabled = true;
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let mut page = Page::open(at);
        page.send(b"GNUTELLA CONNECT/0.6\r\nUser-Agent: page\r\n\r\n");
        let head = page.head();
        assert!(head.starts_with("GNUTELLA/0.6 "), "{head}");
        page.socket.close(None).unwrap();
        assert!(matches!(page.socket.read(), Ok(Message::Close(_)) | Err(_)));
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wb_1_an_upgrade_that_is_not_allowed_is_told_why() {
    let state = tempfile::tempdir().unwrap();
    let servent = start(admitting(ServentOptions::under(state.path()))).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let upgrade = |name: &str, value: Option<&str>| {
            let mut raw = Raw::connect(at);
            let mut head = format!("GET /servent HTTP/1.1\r\nHost: {at}\r\n");
            for (known, usual) in UPGRADE {
                let said = if known == name { value } else { Some(usual) };
                if let Some(value) = said {
                    head.push_str(&format!("{known}: {value}\r\n"));
                }
            }
            raw.send(&format!("{head}\r\n"));
            (raw.head(), raw)
        };
        let ((status, head), _) = upgrade("", None);
        assert_eq!(status, 101, "{head}");
        assert_eq!(header(&head, "sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        for (name, value, wanted) in [
            ("Origin", Some("https://room.example.org"), 101),
            ("Origin", None, 101), // No browser.
            ("Origin", Some("http://127.0.0.1:6381"), 403),
            ("Origin", Some("http://evil.example:6380"), 403),
            ("Origin", Some("null"), 403),
            ("Sec-WebSocket-Protocol", None, 400),
            ("Sec-WebSocket-Protocol", Some("chat"), 400),
            ("Sec-WebSocket-Version", Some("8"), 426),
            ("Sec-WebSocket-Key", Some("short"), 400),
            ("Connection", Some("close"), 400),
            ("Upgrade", None, 403), // An ordinary request of a page elsewhere: the node answers.
        ] {
            let ((status, head), mut raw) = upgrade(name, value);
            assert_eq!(status, wanted, "{name}: {value:?}: {head}");
            if wanted == 426 {
                assert_eq!(header(&head, "sec-websocket-version"), Some("13"));
            }
            if matches!(wanted, 400 | 403 | 426) {
                let length = header(&head, "content-length").unwrap().parse().unwrap();
                raw.body(length);
                assert!(raw.is_over(), "{name}: {value:?} stays open");
            }
        }
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wb_1_a_page_that_breaks_the_rules_is_closed_with_the_code_for_it() {
    let state = tempfile::tempdir().unwrap();
    let servent = start(admitting(ServentOptions::under(state.path()))).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let text = [&[0x81, 0x85, 0, 0, 0, 0][..], b"hello"].concat();
        let unmasked = [&[0x82, 0x05][..], b"hello"].concat();
        let gigabyte = [&[0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0][..], &[0; 9]].concat();
        let reserved = [0xf2, 0x80, 0, 0, 0, 0];
        let unknown = [0x83, 0x80, 0, 0, 0, 0];
        let endless = [0x09, 0x80, 0, 0, 0, 0]; // A ping in parts.
        for (what, frame, code) in [
            ("text", &text[..], CloseCode::Unsupported),
            ("unmasked", &unmasked, CloseCode::Protocol),
            ("gigabyte", &gigabyte, CloseCode::Size),
            ("reserved", &reserved, CloseCode::Protocol),
            ("unknown", &unknown, CloseCode::Protocol),
            ("endless", &endless, CloseCode::Protocol),
        ] {
            let mut page = Page::open(at);
            page.socket.get_mut().write_all(frame).unwrap();
            assert_eq!(page.closed(), code, "{what}");
        }
        // Many parts of one message that together are too large.
        let mut page = Page::open(at);
        let part = [&[0xfe, 0x80, 0, 0, 0, 0, 0][..], &vec![b'x'; 0x8000]].concat();
        for n in 0..9_u8 {
            let opcode = if n == 0 { 0x02 } else { 0x00 };
            let _ = page.socket.get_mut().write_all(&[&[opcode][..], &part].concat());
        }
        assert_eq!(page.closed(), CloseCode::Size);
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}

/// Whatever it does then, and also when it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_broke_the_rules_is_not_heard_any_more() {
    let state = tempfile::tempdir().unwrap();
    let mut options = admitting(ServentOptions::under(state.path()));
    // Only what is tested ends the connection.
    options.node.limits.request_deadline = Duration::from_secs(3_600);
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let text = [&[0x81, 0x85, 0, 0, 0, 0][..], b"hello"].concat();
        for more in ["", "GET /get/0/nothing HTTP/1.1\r\nHost: a\r\n\r\n"] {
            let mut page = Page::open(at);
            page.socket.get_mut().write_all(&text).unwrap();
            page.socket.get_mut().write_all(more.as_bytes()).unwrap();
            let mut said = Vec::new();
            page.socket.get_mut().read_to_end(&mut said).unwrap();
            assert_eq!(said, [0x88, 2, 0x03, 0xeb], "a goodbye with 1003, and the end");
        }
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_or_a_first_head_that_takes_too_long_is_ended() {
    let state = tempfile::tempdir().unwrap();
    let mut options = admitting(ServentOptions::under(state.path()));
    options.node.limits.request_deadline = Duration::from_millis(300);
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let mut slow = TcpStream::connect(at).unwrap();
        slow.set_read_timeout(Some(PATIENCE)).unwrap();
        slow.write_all(b"GET /servent HTTP/1.1\r\nUpgrade: websocket\r\n").unwrap();
        let mut told = Vec::new();
        slow.read_to_end(&mut told).unwrap();
        let mut silent = Page::open(at);
        assert!(matches!(silent.closed(), CloseCode::Normal));
        assert!(matches!(silent.socket.read(), Err(Error::ConnectionClosed | Error::Protocol(_))));
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_has_only_so_many_and_a_slow_page_costs_no_other() {
    let (files, bytes) = shared("file.bin", 40_000_000);
    let state = tempfile::tempdir().unwrap();
    let mut options = admitting(sharing(state.path(), files.path(), 2, 1));
    options.node.limits.connections_per_ip = 8;
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    beside(move || {
        let mut slow = Page::open(at);
        slow.send(format!("GET {TARGET} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        assert!(slow.head().starts_with("HTTP/1.1 200 "));
        let held: Vec<Page> = (1..8).map(|_| Page::open(at)).collect();
        for _ in 0..3 {
            let mut refused = TcpStream::connect(at).unwrap();
            refused.set_read_timeout(Some(PATIENCE)).unwrap();
            assert!(matches!(refused.read(&mut [0; 1]), Ok(0) | Err(_)));
        }
        drop(held);
        assert!(slow.take(40_000_000) == bytes);
    })
    .await;
    all_gone(&servent).await;
    servent.stop().await.unwrap();
}
