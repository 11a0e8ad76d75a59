//! A server that is busy says when to come back, as a date too (RFC 9110 §10.2.3).

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::program::{PATIENCE, Place, assert_same};

/// What the server says first: a date, two seconds after its own. Its clock is years
/// behind ours.
const BUSY: &str = "HTTP/1.1 503 Busy\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                    Retry-After: Sunday, 06-Nov-94 08:49:39 GMT\r\nContent-Length: 0\r\n\
                    Connection: close\r\n\r\n";

/// Reads a head, and answers.
fn answer(mut stream: TcpStream, reply: &str) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
        head.push(byte[0]);
    }
    stream.write_all(reply.as_bytes()).unwrap();
}

#[test]
fn a_date_to_come_back_is_obeyed_and_not_a_minute() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        answer(listener.accept().unwrap().0, BUSY);
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsong";
        answer(listener.accept().unwrap().0, reply);
    });
    let place = Place::new();
    // A minute, as without a date, is longer than this waits for any command.
    let got = place.run(&["get", &format!("http://{at}/song"), "-o", "song", "--state", "s"]);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert_same(&place.path("song"), b"song");
    server.join().unwrap();
}
