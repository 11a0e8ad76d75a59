//! What the tests of swarms share: a coordinator, clients, and frames by hand.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::program::{PATIENCE, Place, Running, noise};

/// A coordinator of one file of so many bytes, in pieces of 16 KiB.
pub(crate) fn coordinator(
    place: &Place,
    size: usize,
    at: &str,
    extra: &[&str],
) -> (Running, Vec<u8>) {
    coordinator_in_pieces(place, size, at, &[&["--chunk", "16384"], extra].concat())
}

/// The same with pieces of another size, which `extra` says.
pub(crate) fn coordinator_in_pieces(
    place: &Place,
    size: usize,
    at: &str,
    extra: &[&str],
) -> (Running, Vec<u8>) {
    let bytes = noise(size);
    std::fs::write(place.path("film.mkv"), &bytes).unwrap();
    let fixed = ["swarm", "serve", "film.mkv", "--listen", at, "--state", "s"];
    let mut running = Running::start(place.servent(&[&fixed[..], &["--json"], extra].concat()));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    (running, bytes)
}

pub(crate) fn url(at: SocketAddr) -> String {
    format!("pdtp://{at}/film.mkv")
}

/// A client that makes the file `name`.
pub(crate) fn client(place: &Place, at: SocketAddr, name: &str, extra: &[&str]) -> Running {
    let url = url(at);
    let fixed = ["swarm", "get", &url, "-o", name, "--state", "clients", "--json"];
    let passive = extra.contains(&"--passive");
    let listen: &[&str] = if passive { &[] } else { &["--listen", "127.0.0.1:0"] };
    Running::start(place.servent(&[&fixed[..], listen, extra].concat()))
}

pub(crate) fn number(fact: &Value, key: &str) -> u64 {
    fact[key].as_u64().unwrap_or_else(|| panic!("no {key} in {fact}"))
}

/// A client that says whatever a test wants.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) fn connect(at: SocketAddr) -> Self {
        Self::from(at, [127, 0, 0, 1].into())
    }

    /// From another address of this machine.
    pub(crate) fn from(at: SocketAddr, from: IpAddr) -> Self {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
        socket.connect(&at.into()).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    /// Connects and registers.
    pub(crate) fn registered(at: SocketAddr, id: &str) -> Self {
        let mut raw = Self::connect(at);
        raw.say(&format!(r#"["register",{{"client_id":"{id}","listen_port":9}}]"#));
        raw
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.frame(text.as_bytes());
    }

    /// A frame; it may be cut off by the other side hanging up.
    pub(crate) fn frame(&mut self, body: &[u8]) -> bool {
        let mut bytes = u16::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(body);
        self.0.write_all(&bytes).is_ok()
    }

    /// The type and the arguments of what comes next; `None` when it hung up.
    pub(crate) fn hear(&mut self) -> Option<(String, Value)> {
        let mut length = [0; 2];
        self.0.read_exact(&mut length).ok()?;
        let mut body = vec![0; usize::from(u16::from_be_bytes(length))];
        self.0.read_exact(&mut body).ok()?;
        let message: Value = serde_json::from_slice(&body).unwrap();
        Some((message[0].as_str().unwrap().to_owned(), message[1].clone()))
    }

    /// What comes next of this type.
    pub(crate) fn hear_a(&mut self, kind: &str) -> Value {
        let mut others = Vec::new();
        while let Some((found, arguments)) = self.hear() {
            if found == kind {
                return arguments;
            }
            others.push(found);
        }
        panic!("no {kind} after {others:?}")
    }

    /// A `protocol_error` that mentions `part`, then the end.
    #[track_caller]
    pub(crate) fn is_shown_out(&mut self, part: &str) {
        let error = self.hear_a("protocol_error");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(part), "no {part:?} in {message:?}");
        assert!(self.hear().is_none(), "it may go on after {message:?}");
    }
}
