//! Newcomers find others through a cache that only speaks UDP.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use servent::driver::{Handle, ServentOptions};
use servent_core::id::Guid;
use servent_core::node::{NodeCommand, OverlayCommand};
use servent_core::wire::gnutella::ggep::{self, GgepBlock};
use servent_core::wire::gnutella::{
    FrameLimits, Framer, MessageBody, OverlayMessage, OverlayPayload, Ping, Pong,
};

use crate::common::{PATIENCE, start, until};

async fn joined(state: &std::path::Path) -> Handle {
    let mut options = ServentOptions::under(state);
    options.listen = vec!["127.0.0.1:0".parse().unwrap()];
    options.node.overlay.enabled = true;
    start(options).await
}

fn read(bytes: &[u8]) -> OverlayMessage {
    let mut framer = Framer::new(FrameLimits { payload: 2_048 });
    framer.push(OverlayPayload::copy_from_slice(bytes));
    OverlayMessage::parse(framer.next_frame().unwrap().unwrap()).unwrap()
}

fn extended(id: &[u8], data: &[u8]) -> OverlayPayload {
    let mut out = Vec::new();
    ggep::write(&[GgepBlock::new(id, data)], false, &mut out);
    out.into()
}

fn packed(at: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(at) = at else { unreachable!() };
    [&at.ip().octets()[..], &at.port().to_le_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rt_23_a_peer_may_be_a_cache_and_a_servent_is_one() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (known, newcomer) = (joined(one.path()).await, joined(other.path()).await);
    let cache = UdpSocket::bind("127.0.0.1:0").unwrap();
    cache.set_read_timeout(Some(PATIENCE)).unwrap();
    let at = cache.local_addr().unwrap();
    let names = packed(known.addr().unwrap());
    newcomer.command(NodeCommand::Overlay(OverlayCommand::Join { at })).await.unwrap();
    let cache = tokio::task::spawn_blocking(move || {
        let mut buffer = [0; 2_048];
        let (length, from) = cache.recv_from(&mut buffer).unwrap();
        let ping = read(&buffer[..length]);
        assert!(matches!(ping.body, MessageBody::Ping(_)), "{ping:?}");
        let SocketAddr::V4(itself) = at else { unreachable!() };
        let ggep = extended(b"IPP", &names);
        let body = MessageBody::Pong(Pong { at: itself, files: 0, kilobytes: 0, ggep });
        let pong = OverlayMessage { guid: ping.guid, ttl: 1, hops: 0, body };
        cache.send_to(&pong.to_bytes(), from).unwrap();
        cache
    });
    let cache = cache.await.unwrap();
    let neighbours = async |of: &Handle| of.neighbourhood().await.unwrap().unwrap();
    until("they are neighbours", async || neighbours(&newcomer).await.router.links.len() == 1)
        .await;
    // A host that asks a servent is told of others, as by a cache.
    let (asked, names) = (known.addr().unwrap(), packed(newcomer.addr().unwrap()));
    let told = tokio::task::spawn_blocking(move || {
        let body = MessageBody::Ping(Ping { ggep: extended(b"SCP", &[0]) });
        let ping = OverlayMessage { guid: Guid([7; 16]), ttl: 1, hops: 0, body };
        // One address is answered once a second, and the newcomer has it too.
        cache.set_read_timeout(Some(Duration::from_millis(1_100))).unwrap();
        let mut buffer = [0; 2_048];
        for _ in 0..PATIENCE.as_secs() {
            cache.send_to(&ping.to_bytes(), asked).unwrap();
            let Ok((length, _)) = cache.recv_from(&mut buffer) else { continue };
            let message = read(&buffer[..length]);
            if let OverlayMessage { guid: Guid([7, ..]), body: MessageBody::Pong(pong), .. } =
                message
            {
                return pong;
            }
        }
        panic!("no servent answers");
    });
    let pong = told.await.unwrap();
    assert_eq!(SocketAddr::V4(pong.at), asked);
    assert!(pong.ggep.windows(6).any(|six| six == names), "{pong:?}");
    known.stop().await.unwrap();
    newcomer.stop().await.unwrap();
}

/// WB-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_learns_its_address_and_no_client_does_where_no_pages_are() {
    // A binding request (RFC 8489 §5), then a ping of the overlay: what was asked first
    // would be answered first.
    let request = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    let pinged = |servent: &Handle| {
        let ggep = extended(b"SCP", &[0]);
        let ping = OverlayMessage {
            guid: Guid([9; 16]),
            ttl: 1,
            hops: 0,
            body: MessageBody::Ping(Ping { ggep }),
        };
        let (to, request) = (servent.addr().unwrap(), request.clone());
        tokio::task::spawn_blocking(move || {
            let page = UdpSocket::bind("127.0.0.1:0").unwrap();
            page.set_read_timeout(Some(PATIENCE)).unwrap();
            page.send_to(&request, to).unwrap();
            page.send_to(&ping.to_bytes(), to).unwrap();
            let mut buffer = [0; 2_048];
            let (length, _) = page.recv_from(&mut buffer).unwrap();
            (buffer[..length].to_vec(), page.local_addr().unwrap().port())
        })
    };
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = ServentOptions::under(one.path());
    options.listen = vec!["127.0.0.1:0".parse().unwrap()];
    options.node.overlay.enabled = true;
    options.origins = Some(servent::Origins::default());
    let (room, alone) = (start(options).await, joined(other.path()).await);
    let (told, port) = pinged(&room).await.unwrap();
    assert_eq!((told[..2].to_vec(), told[8..20].to_vec()), (vec![1, 1], vec![7; 12]));
    assert_eq!(u16::from_be_bytes([told[26], told[27]]) ^ 0x2112, port);
    let (told, _) = pinged(&alone).await.unwrap();
    assert!(matches!(read(&told).body, MessageBody::Pong(_)));
    room.stop().await.unwrap();
    alone.stop().await.unwrap();
}
