//! Peers of other makes: the heads that gtk-gnutella 1.2.3 and LimeWire 5 were
//! seen to send, and a neighbour that speaks them by hand.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use servent_core::id::Guid;
use servent_core::wire::gnutella::{
    Deflater, FrameLimits, Framer, InflateLimits, Inflater, MessageBody, OverlayMessage,
};

use crate::common::{PATIENCE, header};
use crate::recorded::GTK;
pub(crate) use crate::recorded::gtk_get;

/// gtk-gnutella calls, as leaf or ultrapeer.
pub(crate) fn gtk_connect(listens: SocketAddr, ultrapeer: bool) -> String {
    let rest = if ultrapeer {
        "X-Live-Since: Tue, 25 Jun 2024 10:15:13 +0000\r\n\
         X-Ultrapeer: True\r\n\
         X-Ultrapeer-Query-Routing: 0.1\r\n\
         X-Degree: 20\r\n\
         X-Max-TTL: 4\r\n\
         X-Dynamic-Querying: 0.1\r\n\
         X-Ext-Probes: 0.1\r\n"
    } else {
        "X-Live-Since: Tue, 25 Jun 2024 10:12:45 +0000\r\n\
         X-Ultrapeer: False\r\n\
         X-Dynamic-Querying: 0.1\r\n\
         X-Ultrapeer-Query-Routing: 0.1\r\n\
         X-Degree: 32\r\n\
         X-Max-TTL: 4\r\n"
    };
    format!(
        "GNUTELLA CONNECT/0.6\r\n\
         Node: {listens}\r\n\
         Remote-IP: 127.0.0.1\r\n\
         {GTK}\
         Pong-Caching: 0.1\r\n\
         Bye-Packet: 0.1\r\n\
         GGEP: 0.5\r\n\
         GUID: 83c031021fdcb26fc0ca3a5a2d540ee5\r\n\
         Vendor-Message: 0.2\r\n\
         X-Query-Routing: 0.2\r\n\
         X-Requeries: False\r\n\
         Upgrade: TLS/1.0\r\n\
         Accept-Encoding: deflate\r\n\
         X-Token: ZnqYgcWUY7ee/ioluMO0mxY19t09EY4UAaRr; fxE=\r\n\
         {rest}\
         X-Guess: 0.2\r\n\
         X-Features: tls/1.0, sflag/0.1, HSEP/0.2\r\n\r\n"
    )
}

/// Its answer as ultrapeer, with a deflated stream behind it.
pub(crate) fn gtk_accept() -> String {
    format!(
        "GNUTELLA/0.6 200 OK\r\n\
         {GTK}\
         Pong-Caching: 0.1\r\n\
         Bye-Packet: 0.1\r\n\
         GGEP: 0.5\r\n\
         GUID: d7233102fbf8cc4433074f90baddf5b2\r\n\
         Vendor-Message: 0.2\r\n\
         Remote-IP: 127.0.0.1\r\n\
         X-Ultrapeer: True\r\n\
         X-Requeries: False\r\n\
         Accept-Encoding: deflate\r\n\
         Content-Encoding: deflate\r\n\
         X-Ultrapeer-Needed: True\r\n\
         X-Query-Routing: 0.1\r\n\
         X-Ultrapeer-Query-Routing: 0.1\r\n\
         X-Degree: 20\r\n\
         X-Max-TTL: 4\r\n\
         X-Dynamic-Querying: 0.1\r\n\
         X-Ext-Probes: 0.1\r\n\
         X-Guess: 0.2\r\n\
         X-Live-Since: Tue, 25 Jun 2024 10:15:13 +0000\r\n\
         X-Features: tls/1.0, sflag/0.1, HSEP/0.2\r\n\r\n"
    )
}

/// It does not want a neighbour, with this status line.
pub(crate) fn gtk_refuse(status: &str) -> String {
    format!("GNUTELLA/0.6 {status}\r\n{GTK}Remote-IP: 127.0.0.1\r\n\r\n")
}

/// It has a place in its line for us.
pub(crate) fn gtk_queued(urn: &str, id: &str) -> String {
    format!(
        "HTTP/1.1 503 Queued (slot 2, ETA: 1d 22h)\r\n\
         Server: gtk-gnutella/1.2.3 (2024-03-03; Topless; Linux x86_64)\r\n\
         Date: Tue, 25 Jun 2024 10:22:12 GMT\r\n\
         Content-Length: 0\r\n\
         X-Features: tls/1.0, fwalt/0.1, queue/1.1\r\n\
         Retry-After: 45\r\n\
         X-Queued: ID={id}; position=2; lifetime=105; length=2; ETA=166666\r\n\
         X-Gnutella-Content-URN: {urn}\r\n\
         X-Thex-URI: /uri-res/N2X?{urn};GV43RTZQAIDPLM4GGIN7FZWNXFJITGYA56W7IYI\r\n\r\n"
    )
}

/// LimeWire calls, as leaf or ultrapeer.
pub(crate) fn lime_connect(listens: SocketAddr, ultrapeer: bool) -> String {
    let (kind, probes) = if ultrapeer { ("True", "X-Ext-Probes: 0.1\r\n") } else { ("False", "") };
    format!(
        "GNUTELLA CONNECT/0.6\r\n\
         X-Max-TTL: 3\r\n\
         X-Dynamic-Querying: 0.1\r\n\
         X-Requeries: false\r\n\
         X-Query-Routing: 0.1\r\n\
         User-Agent: LimeWire/@version@\r\n\
         Vendor-Message: 0.2\r\n\
         X-Ultrapeer-Query-Routing: 0.1\r\n\
         GGEP: 0.5\r\n\
         Listen-IP: {listens}\r\n\
         Accept-Encoding: deflate\r\n\
         Pong-Caching: 0.1\r\n\
         X-Ultrapeer: {kind}\r\n\
         X-Guess: 0.1\r\n\
         {probes}\
         X-Degree: 32\r\n\
         X-Locale-Pref: en\r\n\
         Remote-IP: 127.0.0.1\r\n\r\n"
    )
}

/// Its answer as ultrapeer, with a deflated stream behind it.
pub(crate) fn lime_accept(listens: SocketAddr) -> String {
    format!(
        "GNUTELLA/0.6 200 OK\r\n\
         Pong-Caching: 0.1\r\n\
         Accept-Encoding: deflate\r\n\
         X-Requeries: false\r\n\
         X-Locale-Pref: en\r\n\
         X-Guess: 0.1\r\n\
         Content-Encoding: deflate\r\n\
         X-Max-TTL: 3\r\n\
         Vendor-Message: 0.2\r\n\
         X-Ultrapeer-Query-Routing: 0.1\r\n\
         X-Query-Routing: 0.1\r\n\
         Listen-IP: {listens}\r\n\
         X-Ext-Probes: 0.1\r\n\
         Remote-IP: 127.0.0.1\r\n\
         GGEP: 0.5\r\n\
         X-Dynamic-Querying: 0.1\r\n\
         X-Degree: 32\r\n\
         User-Agent: LimeWire/@version@\r\n\
         X-Ultrapeer: True\r\n\
         X-Try-Ultrapeers: \r\n\r\n"
    )
}

/// It asks for a range of a file.
pub(crate) fn lime_get(urn: &str, server: SocketAddr, (first, last): (usize, usize)) -> String {
    format!(
        "GET /uri-res/N2R?{urn} HTTP/1.1\r\n\
         Host: {server}\r\n\
         User-Agent: LimeWire/@version@\r\n\
         X-Queue: 0.1\r\n\
         X-Gnutella-Content-URN: {urn}\r\n\
         Range: bytes={first}-{last}\r\n\
         X-FW-Node-Info: A810D93208F9397330DCDD77D00E2D00\r\n\
         X-Features: browse/1.0,queue/0.1\r\n\r\n"
    )
}

/// It has a place in its line for us.
pub(crate) fn lime_queued(urn: &str) -> String {
    format!(
        "HTTP/1.1 503 Service Unavailable\r\n\
         X-Queue: position=1, pollMin=45, pollMax=120\r\n\
         X-Gnutella-Content-URN: {urn}\r\n\
         X-Features: fwalt/0.1,browse/1.0\r\n\
         X-Thex-URI: /uri-res/N2X?{urn};BEIXAJ5BGVIKQZMXZO2OMOKZC5MLYAYGFW6BUYQ\r\n\
         Connection: Keep-Alive\r\n\
         Date: Sun, 22 Nov 2026 10:32:53 GMT\r\n\
         Server: LimeWire/@version@\r\n\
         Content-Length: 0\r\n\r\n"
    )
}

/// It gives a whole file.
pub(crate) fn lime_gives(urn: &str, size: usize) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n\
         Date: Sun, 22 Nov 2026 10:33:40 GMT\r\n\
         Content-Disposition: attachment; filename=\"lime-citrus.mp3\"\r\n\
         Content-Range: bytes 0-{}/{size}\r\n\
         X-Gnutella-Content-URN: {urn}\r\n\
         X-Thex-URI: /uri-res/N2X?{urn};BEIXAJ5BGVIKQZMXZO2OMOKZC5MLYAYGFW6BUYQ\r\n\
         Server: LimeWire/@version@\r\n\
         Content-Length: {size}\r\n\
         Content-Type: application/binary\r\n\r\n",
        size - 1
    )
}

/// gtk-gnutella gives a piece of a file whose tree it has.
pub(crate) fn gtk_piece(urn: &str, thex: &str, range: (usize, usize), size: usize) -> String {
    let (start, end) = range;
    format!(
        "HTTP/1.1 206 Partial Content\r\n\
         Server: gtk-gnutella/1.2.3 (2024-03-03; Topless; Linux x86_64)\r\n\
         Date: Tue, 25 Jun 2024 10:22:12 GMT\r\n\
         Content-Type: application/binary\r\n\
         Content-Range: bytes {start}-{}/{size}\r\n\
         Content-Length: {}\r\n\
         X-Features: tls/1.0, fwalt/0.1, queue/1.1\r\n\
         X-Gnutella-Content-URN: {urn}\r\n\
         X-Thex-URI: {thex}\r\n\r\n",
        end - 1,
        end - start
    )
}

/// LimeWire does.
pub(crate) fn lime_piece(urn: &str, thex: &str, range: (usize, usize), size: usize) -> String {
    let (start, end) = range;
    format!(
        "HTTP/1.1 206 Partial Content\r\n\
         Date: Sun, 22 Nov 2026 10:33:40 GMT\r\n\
         Content-Disposition: attachment; filename=\"lime-citrus.mp3\"\r\n\
         Content-Range: bytes {start}-{}/{size}\r\n\
         X-Gnutella-Content-URN: {urn}\r\n\
         X-Thex-URI: {thex}\r\n\
         Server: LimeWire/@version@\r\n\
         Content-Length: {}\r\n\
         Content-Type: application/binary\r\n\r\n",
        end - 1,
        end - start
    )
}

/// True when both take a peer that says this for an ultrapeer of theirs.
pub(crate) fn is_good_ultrapeer(head: &str) -> bool {
    let number = |name: &str| header(head, name).and_then(|value| value.parse::<u32>().ok());
    let says = |name: &str| header(head, name) == Some("0.1");
    let all =
        ["X-Query-Routing", "X-Ultrapeer-Query-Routing", "X-Dynamic-Querying", "X-Ext-Probes"];
    number("X-Degree") >= Some(16)
        && number("X-Max-TTL").is_some_and(|ttl| ttl < 5)
        && header(head, "X-Ultrapeer") == Some("True")
        && all.into_iter().all(says)
}

/// A neighbour by hand.
pub(crate) struct Foreign {
    stream: TcpStream,
    unread: Vec<u8>,
    framer: Framer,
    inflater: Option<Inflater>,
    deflater: Option<Deflater>,
    /// Everything it heard.
    pub(crate) heard: Vec<OverlayMessage>,
}

impl Foreign {
    fn on(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            unread: Vec::new(),
            framer: Framer::new(FrameLimits { payload: 65_536 }),
            inflater: None,
            deflater: None,
            heard: Vec::new(),
        }
    }

    /// It calls and says its head; what it is answered.
    pub(crate) fn call(to: SocketAddr, head: &str) -> (Self, String) {
        let mut foreign = Self::on(TcpStream::connect(to).unwrap());
        foreign.say(head);
        let answer = foreign.head();
        (foreign, answer)
    }

    /// It is called; what the caller says first.
    pub(crate) fn called(listener: &TcpListener) -> (Self, String) {
        let mut foreign = Self::on(listener.accept().unwrap().0);
        let head = foreign.head();
        (foreign, head)
    }

    /// It is called for a place in a line; the one line the caller says.
    pub(crate) fn called_back(listener: &TcpListener) -> (Self, String) {
        let mut foreign = Self::on(listener.accept().unwrap().0);
        let end = loop {
            match foreign.unread.iter().position(|byte| *byte == b'\n') {
                Some(at) => break at + 1,
                None => assert!(foreign.more(), "no line before the end"),
            }
        };
        let line = String::from_utf8(foreign.unread.drain(..end).collect()).unwrap();
        (foreign, line)
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// False when the other end does not want these bytes any more.
    pub(crate) fn may_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next head, or `None` at the end.
    pub(crate) fn next_head(&mut self) -> Option<String> {
        if self.unread.is_empty() && !self.more() { None } else { Some(self.head()) }
    }

    /// The next head, or line with an empty one behind it.
    pub(crate) fn head(&mut self) -> String {
        let ends = |bytes: &[u8]| {
            let long = bytes.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
            long.or_else(|| bytes.windows(2).position(|w| w == b"\n\n").map(|at| at + 2))
        };
        let end = loop {
            match ends(&self.unread) {
                Some(end) => break end,
                None => assert!(self.more(), "no head before the end"),
            }
        };
        String::from_utf8(self.unread.drain(..end).collect()).unwrap()
    }

    /// The next `n` bytes.
    pub(crate) fn body(&mut self, n: usize) -> Vec<u8> {
        while self.unread.len() < n {
            assert!(self.more(), "no body before the end");
        }
        self.unread.drain(..n).collect()
    }

    fn more(&mut self) -> bool {
        let mut buffer = [0; 16_384];
        let read = self.stream.read(&mut buffer).unwrap_or(0);
        self.unread.extend(&buffer[..read]);
        read > 0
    }

    /// From here on messages: what we hear is deflated, what we say is.
    pub(crate) fn flow(&mut self, (hears, says): (bool, bool)) {
        let limits = InflateLimits { bytes: 1 << 20, ratio: 1_000 };
        self.inflater = hears.then(|| Inflater::new(limits));
        self.deflater = says.then(Deflater::new);
    }

    pub(crate) fn send(&mut self, guid: Guid, (ttl, hops): (u8, u8), body: MessageBody) {
        let plain = OverlayMessage { guid, ttl, hops, body }.to_bytes();
        let bytes = match &mut self.deflater {
            Some(deflater) => deflater.push(&plain),
            None => plain,
        };
        self.bytes(&bytes);
    }

    /// The first message that fits, of those it hears from here on.
    pub(crate) fn hear<T>(&mut self, fits: impl Fn(&OverlayMessage) -> Option<T>) -> T {
        loop {
            let new = std::mem::take(&mut self.unread);
            let plain = match &mut self.inflater {
                Some(inflater) => inflater.push(&new).unwrap(),
                None => new,
            };
            self.framer.push(plain.into());
            let mut found = None;
            while let Some(frame) = self.framer.next_frame().unwrap() {
                let message = OverlayMessage::parse(frame).unwrap();
                found = found.or_else(|| fits(&message));
                self.heard.push(message);
            }
            if let Some(found) = found {
                return found;
            }
            assert!(self.more(), "it was closed before that: {:?}", self.heard);
        }
    }
}
