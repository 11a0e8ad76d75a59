//! A client on a line of two kilobytes a second.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::program::{Place, pause};

#[test]
fn a_slow_reader_is_served_on_and_a_dead_one_is_not() {
    let place = Place::new();
    place.share("film", 50_000_000);
    let server = place.sharing(&["--slots", "2", "--set", "limits.reader_window=4s"]);
    let at = server.at;
    let ask = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        socket.connect(&at.into()).unwrap();
        let mut stream = std::net::TcpStream::from(socket);
        stream.write_all(b"GET /get/0/film HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    };
    let (mut slow, mut dead) = (ask(), ask());
    let mut some = [0; 512];
    for _ in 0..52 {
        pause(Duration::from_millis(250));
        slow.read_exact(&mut some).unwrap();
    }
    // What the system held for it is read; then there is nothing but an end.
    let mut held = Vec::new();
    let ended = dead.read_to_end(&mut held);
    assert!(ended.is_err() && held.len() < 1_000_000, "{ended:?} after {} B", held.len());
}
