//! The bytes of a connection, plain or inside TLS.
//!
//! The node asks for an `https://` URL as it would ask a proxy: with the whole
//! URL in the request line (RFC 9112 §3.2.2). This module acts as that proxy:
//! the first such request begins TLS with the host it names, and all of them
//! are sent in the form that host expects. So what the node remembers of a
//! download says that it must be fetched over TLS, and no redirect or restart
//! can change that.
//!
//! Connections accepted by a servent that has an identity are TLS from the
//! first byte. Others may become WebSockets.

use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::{Connection, ServerConnection};
use tokio::net::TcpStream;

use super::ProxyAccess;
use super::distrust::{DistrustKind, in_words};
use super::identity::Identity;
use super::trust::Trust;
use super::websocket::{Frames, OURS, WebSocket};
use crate::roots::TrustError;

/// How such a request goes on behind its method.
const SECURE: &[u8] = b"https://";
/// The methods of our requests.
const METHODS: [&[u8]; 2] = [b"GET ", b"HEAD "];
/// Bytes that TLS takes at a time.
const ENCRYPTED: usize = 32 << 10;
/// What is wrong with a server that was asked for TLS.
pub(crate) const PLAIN: &str = "it answers without TLS";
/// What a client hears that speaks plain HTTP where TLS is expected.
const NOT_TLS: &str = "This port speaks TLS: write https:// instead of http://.\n";
/// The code of a WebSocket that ends as it should (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// A connection's bytes.
pub(super) struct Stream {
    tcp: TcpStream,
    /// Apart, because most connections have none and it is large.
    secure: Option<Box<Mutex<Secure>>>,
    /// Only on plain connections: browsers trust no certificate of our own, so
    /// `wss://` ends at a proxy in front of us.
    web: Option<WebSocket>,
    trust: Arc<Trust>,
    /// What is connected is a proxy, and not the host we ask.
    proxy: Option<Box<ProxyAccess>>,
}

struct Secure {
    /// The host we connected to; `None` on an accepted connection.
    host: Option<String>,
    tls: Connection,
    /// The peer has ended its half.
    ended: bool,
    /// The first byte of the peer was looked at.
    begun: bool,
}

impl Stream {
    pub(super) const fn new(tcp: TcpStream, trust: Arc<Trust>) -> Self {
        Self { tcp, secure: None, web: None, trust, proxy: None }
    }

    /// The same through a proxy, if it is one that is connected.
    pub(super) fn through(self, proxy: Option<ProxyAccess>) -> Self {
        Self { proxy: proxy.map(Box::new), ..self }
    }

    /// The request that opens a tunnel, if these bytes need one first.
    pub(super) fn tunnel(&self, data: &[u8]) -> Option<Vec<u8>> {
        let proxy = self.proxy.as_ref().filter(|_| self.secure.is_none())?;
        let method = METHODS.into_iter().find(|method| data.starts_with(method))?;
        let rest = data[method.len()..].strip_prefix(SECURE)?;
        let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b' ')).unwrap_or(rest.len());
        Some(proxy.connect(str::from_utf8(&rest[..end]).ok()?))
    }

    /// An accepted connection, TLS if there is an identity.
    pub(super) fn accepted(
        tcp: TcpStream,
        trust: Arc<Trust>,
        identity: Option<&Identity>,
    ) -> Result<Self, rustls::Error> {
        let Some(identity) = identity else { return Ok(Self::new(tcp, trust)) };
        let tls = ServerConnection::new(identity.config())?.into();
        let secure =
            Some(Box::new(Mutex::new(Secure { host: None, tls, ended: false, begun: false })));
        Ok(Self { tcp, secure, web: None, trust, proxy: None })
    }

    /// True when no byte may bypass what is between us and the socket.
    pub(super) const fn is_wrapped(&self) -> bool {
        self.secure.is_some() || self.web.is_some()
    }

    /// Bytes that it takes at a time at most: a message, or as much as TLS buffers for
    /// a full socket.
    pub(super) const fn takes(&self) -> usize {
        if self.web.is_some() { OURS } else { ENCRYPTED }
    }

    /// From now on bytes travel in the messages of a WebSocket.
    pub(super) fn upgrade(&mut self, frames: Box<Frames>) {
        self.web = Some(WebSocket::new(frames));
    }

    /// True when the peer broke the rules of WebSockets and is to be told.
    pub(super) fn is_refused(&self) -> bool {
        self.web.as_ref().is_some_and(|web| web.is_refused())
    }

    /// The socket, for what is the same with and without TLS, and for files
    /// sent in plain.
    pub(super) const fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Turns a request into the bytes to send: the first one in absolute form
    /// begins TLS, and credentials are added where they belong.
    pub(super) fn translate(&mut self, data: Vec<u8>) -> io::Result<Vec<u8>> {
        let data = self.trust.introduce(data);
        let asked = self.secure.as_ref().is_none_or(|secure| lock(secure).host.is_some());
        let method = METHODS.into_iter().find(|method| data.starts_with(method));
        let method = method.unwrap_or_default();
        let rest = data[method.len()..].strip_prefix(SECURE);
        let Some(rest) = rest.filter(|_| asked && !method.is_empty()) else {
            // Nothing may be sent unencrypted where we asked for `https://`.
            return if self.secure.is_some() && asked {
                Err(io::ErrorKind::InvalidInput.into())
            } else {
                Ok(match &self.proxy {
                    Some(proxy) => proxy.translate(data),
                    None => data,
                })
            };
        };
        let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b' ')).unwrap_or(rest.len());
        let host = str::from_utf8(&rest[..end]).map_err(|_| io::ErrorKind::InvalidInput)?;
        match &self.secure {
            None => {
                let tls = self.trust.speak_with(host).map_err(|why| self.refuse(host, &why))?;
                let (host, tls) = (Some(host.to_owned()), tls.into());
                self.secure =
                    Some(Box::new(Mutex::new(Secure { host, tls, ended: false, begun: true })));
            }
            Some(secure) if lock(secure).host.as_deref() == Some(host) => {}
            Some(_) => return Err(io::ErrorKind::InvalidInput.into()),
        }
        let slash: &[u8] = if rest.get(end) == Some(&b'/') { b"" } else { b"/" };
        Ok([method, slash, &rest[end..]].concat())
    }

    fn refuse(&self, host: &str, why: &TrustError) -> io::Error {
        let kind = if why.is_of_file() { DistrustKind::File } else { DistrustKind::Other };
        self.trust.refuse(host, (&why.to_string(), kind));
        io::ErrorKind::ConnectionAborted.into()
    }

    /// Waits until there may be something to read. Pending TLS output is sent
    /// meanwhile.
    pub(super) async fn readable(&self) -> io::Result<()> {
        if let Some(web) = &self.web {
            return web.readable(&self.tcp).await;
        }
        let Some(secure) = &self.secure else { return self.tcp.readable().await };
        loop {
            if lock(secure).tls.wants_write() {
                tokio::select! {
                    ready = self.tcp.writable() => {
                        ready?;
                        lock(secure).flush(&self.tcp)?;
                    }
                    ready = self.tcp.readable() => return ready,
                }
            } else if lock(secure).has_plain() {
                return Ok(());
            } else {
                return self.tcp.readable().await;
            }
        }
    }

    /// Waits until the socket may accept more.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.tcp.writable().await
    }

    /// Reads what is there; 0 at the peer's end.
    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(web) = &self.web {
            return web.try_read(&self.tcp, buffer);
        }
        let Some(secure) = &self.secure else { return self.tcp.try_read(buffer) };
        let mut secure = lock(secure);
        let read = secure.read(&self.tcp, buffer);
        if let (Err(why), Some(host)) = (&read, &secure.host)
            && why.kind() == io::ErrorKind::InvalidData
        {
            let inner = why.get_ref().and_then(|why| why.downcast_ref::<rustls::Error>());
            let plain = matches!(inner, Some(rustls::Error::InvalidMessage(_)));
            let plain = plain && secure.tls.is_handshaking();
            let (why, kind) = match inner {
                _ if plain => (PLAIN.to_owned(), DistrustKind::Plain),
                Some(inner) => in_words(inner),
                None => (why.to_string(), DistrustKind::Other),
            };
            self.trust.refuse(host, (&why, kind));
        }
        read
    }

    /// Sends pending output as far as the socket accepts it; true when all of
    /// it was sent.
    pub(super) fn flush(&self) -> io::Result<bool> {
        if let Some(web) = &self.web {
            return web.flush(&self.tcp);
        }
        let Some(secure) = &self.secure else { return Ok(true) };
        let mut secure = lock(secure);
        secure.flush(&self.tcp)?;
        Ok(!secure.tls.wants_write())
    }

    /// Sends the TLS `close_notify` alert or the closing frame of a WebSocket,
    /// so that the peer can tell the end from a truncation.
    pub(super) fn farewell(&self) {
        self.farewell_with(NORMAL);
    }

    /// The same, with a code of its own for the closing frame.
    pub(super) fn farewell_with(&self, code: u16) {
        if let Some(web) = &self.web {
            web.farewell(&self.tcp, code);
        }
        if let Some(secure) = &self.secure {
            lock(secure).tls.send_close_notify();
        }
    }

    /// Writes as much as fits.
    pub(super) fn try_write(&self, data: &[u8]) -> io::Result<usize> {
        if let Some(web) = &self.web {
            return web.try_write(&self.tcp, data);
        }
        let Some(secure) = &self.secure else { return self.tcp.try_write(data) };
        let mut secure = lock(secure);
        secure.flush(&self.tcp)?;
        let n = secure.tls.writer().write(data)?;
        secure.flush(&self.tcp)?;
        if n == 0 && !data.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(n) }
    }
}

impl Secure {
    /// Sends pending output as far as the socket accepts it.
    fn flush(&mut self, tcp: &TcpStream) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Now(tcp)) {
                Ok(_) => {}
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Reads from the socket; true when there is decrypted data or the end.
    fn has_plain(&mut self) -> bool {
        self.ended
            || self
                .tls
                .process_new_packets()
                .map_or(true, |state| state.plaintext_bytes_to_read() > 0)
    }

    fn read(&mut self, tcp: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.begun {
            let mut first = [0];
            crate::sys::peek(tcp, &mut first)?;
            self.begun = true;
            if first[0].is_ascii_uppercase() {
                return Err(refuse_plain(tcp, buffer));
            }
        }
        loop {
            match self.tls.reader().read(buffer) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                // An end without `close_notify` is an error: the data may have
                // been truncated.
                other => return other,
            }
            if self.tls.read_tls(&mut Now(tcp))? == 0 {
                self.ended = true;
            }
            let told = self.tls.process_new_packets();
            // The peer should receive the alert that says why.
            self.flush(tcp)?;
            told.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        }
    }
}

/// Answers a client that speaks plain HTTP where TLS is expected. What it has sent is
/// read, because closing with unread bytes could destroy the reply.
fn refuse_plain(tcp: &TcpStream, buffer: &mut [u8]) -> io::Error {
    let _ = tcp.try_read(buffer);
    let reply = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Upgrade: TLS/1.2, HTTP/1.1\r\nConnection: close, Upgrade\r\n\
         Content-Length: {}\r\n\r\n{NOT_TLS}",
        NOT_TLS.len()
    );
    let _ = tcp.try_write(reply.as_bytes());
    io::ErrorKind::ConnectionAborted.into()
}

fn lock(secure: &Mutex<Secure>) -> MutexGuard<'_, Secure> {
    secure.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket that is read and written without blocking.
pub(super) struct Now<'a>(pub(super) &'a TcpStream);

impl io::Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl io::Write for Now<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.try_write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
