//! The door of a meeting place (PA-13): a connection that asks for nothing is not kept.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use servent::unicast::{DoorLimits, Endpoint, EndpointOptions, MeetNews, MeetingSecret};
use servent_core::meet::{self, MeetKey, MeetSide, MeetingId};
use servent_core::node::MeetAnswer;
use servent_core::wire::meet::{Knock, KnockStep, MeetPacket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

const UPGRADE: &str = "GET /meet HTTP/1.1\r\nHost: place\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A place with an impatient door.
async fn place(limits: DoorLimits) -> (Endpoint, SocketAddr) {
    let config = meet::Config { place: true, relay_rate: 1_000_000, ..meet::Config::default() };
    let options = EndpointOptions { meet: Some(config), ..EndpointOptions::default() };
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let endpoint = Endpoint::bind(any, options).await.unwrap();
    let door = TcpListener::bind(any).await.unwrap();
    let at = door.local_addr().unwrap();
    tokio::spawn(endpoint.open_door(door, limits));
    (endpoint, at)
}

/// Reads until the place ends the connection; what it said.
async fn until_end(mut tcp: TcpStream) -> String {
    let mut said = Vec::new();
    let read = timeout(Duration::from_secs(20), tcp.read_to_end(&mut said)).await;
    assert!(read.is_ok(), "the connection is kept");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_ended() {
    let soon = Duration::from_millis(200);
    let limits = DoorLimits { opening: soon, unseated: soon, ..DoorLimits::default() };
    let (_place, at) = place(limits).await;
    let silent = TcpStream::connect(at).await.unwrap();
    assert_eq!(until_end(silent).await, "");
    // Nor is one kept that has opened the WebSocket and takes no seat.
    let mut open = TcpStream::connect(at).await.unwrap();
    open.write_all(UPGRADE.as_bytes()).await.unwrap();
    let said = until_end(open).await;
    assert!(said.starts_with("HTTP/1.1 101"), "{said}");
}

/// A page that is visited by a browser of this network would reach the place through it.
#[tokio::test]
async fn the_door_is_closed_to_pages_and_to_what_asks_for_something_else() {
    let (_place, at) = place(DoorLimits::default()).await;
    let asked = |head: String| async move {
        let mut tcp = TcpStream::connect(at).await.unwrap();
        tcp.write_all(head.as_bytes()).await.unwrap();
        until_end(tcp).await
    };
    for origin in ["https://attacker.example", "null", &format!("http://{at}")] {
        let head = UPGRADE.replace("\r\n\r\n", &format!("\r\nOrigin: {origin}\r\n\r\n"));
        let said = asked(head).await;
        assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
        assert!(said.ends_with("for programs, not for pages.\n"), "{said}");
    }
    for path in ["/", "/meeting", "/meet/", "/servent"] {
        let said = asked(UPGRADE.replace("/meet", path)).await;
        assert!(said.starts_with("HTTP/1.1 404 "), "{said}");
        assert!(said.ends_with("is at /meet.\n"), "{said}");
    }
}

/// A question in a message of a WebSocket, masked with zeros.
fn question() -> Vec<u8> {
    let packet = MeetPacket::Question { nonce: 7 }.encode();
    let length = u8::try_from(packet.len()).unwrap();
    assert!(length < 126);
    [&[0x82, 0x80 | length, 0, 0, 0, 0], &packet[..]].concat()
}

#[tokio::test]
async fn one_that_asks_and_never_reads_is_ended() {
    let [patient, deaf] = [60_000, 300].map(Duration::from_millis);
    let limits = DoorLimits { unseated: patient, deaf, ..DoorLimits::default() };
    let (_place, at) = place(limits).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut tcp = socket.connect(at).await.unwrap();
    tcp.write_all(UPGRADE.as_bytes()).await.unwrap();
    assert_eq!(tcp.read_u8().await.unwrap(), b'H');
    let many = question().repeat(1_000);
    let ended = async { while tcp.write_all(&many).await.is_ok() {} };
    timeout(Duration::from_secs(20), ended).await.expect("it is kept");
}

/// A visitor on one side of the meeting, which has begun its visit.
async fn visitor(place: SocketAddr, side: MeetSide) -> (Endpoint, MeetNews) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = EndpointOptions { meet: Some(meet::Config::default()), ..Default::default() };
    let endpoint = Endpoint::bind(any, options).await.unwrap();
    let secret = MeetingSecret { meeting: MeetingId([7; 16]), key: MeetKey(1, 2) };
    let news = endpoint.visit(vec![place], secret, side).await.unwrap();
    (endpoint, news)
}

/// Waits for what a visit says.
async fn until(news: &mut MeetNews, wanted: impl Fn(&MeetAnswer) -> bool) {
    let said = async {
        while let Some(answer) = news.next().await {
            if wanted(&answer) {
                return;
            }
        }
        panic!("the visit ended");
    };
    timeout(Duration::from_secs(8), said).await.expect("it was never said");
}

#[tokio::test]
async fn what_a_stranger_sends_in_the_name_of_the_place_ends_no_way_through_its_door() {
    let (place, door) = place(DoorLimits::default()).await;
    // UDP to the place is blocked: its port there is the stranger's.
    let stranger = UdpSocket::bind(door).await.unwrap();
    let (blocked, mut news) = visitor(door, MeetSide::Listener).await;
    until(&mut news, |it| matches!(it, MeetAnswer::Waiting { .. })).await;
    let choice = Knock { tag: 7, ..Knock::new(MeetSide::Caller, KnockStep::Choose, 9) };
    let waiting = MeetPacket::Waiting { nonce: 9 };
    let forged = [vec![0], MeetPacket::Knock(choice).encode(), waiting.encode()];
    for datagram in forged {
        stranger.send_to(&datagram, blocked.local_addr()).await.unwrap();
    }
    sleep(Duration::from_millis(300)).await;
    let (_caller, mut others) = visitor(place.local_addr(), MeetSide::Caller).await;
    until(&mut others, |it| matches!(it, MeetAnswer::Met { relayed: true, .. })).await;
    until(&mut news, |it| matches!(it, MeetAnswer::Met { relayed: true, .. })).await;
}

#[tokio::test]
async fn when_the_door_is_full_the_crowd_gives_way() {
    let (_place, at) = place(DoorLimits { visitors: 4, per_ip: 4, ..DoorLimits::default() }).await;
    let from = |ip: [u8; 4]| async move {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((ip, 0).into()).unwrap();
        let mut tcp = socket.connect(at).await.unwrap();
        tcp.write_all(UPGRADE.as_bytes()).await.unwrap();
        tcp
    };
    let mut crowd = Vec::new();
    for _ in 0..4 {
        let mut tcp = from([127, 0, 0, 1]).await;
        assert_eq!(tcp.read_u8().await.unwrap(), b'H');
        crowd.push(tcp);
    }
    let mut other = from([127, 0, 0, 2]).await;
    assert_eq!(other.read_u8().await.unwrap(), b'H', "it is let in");
    let oldest = crowd.remove(0);
    assert!(until_end(oldest).await.contains("101"), "and the oldest of the crowd is not any more");
}
