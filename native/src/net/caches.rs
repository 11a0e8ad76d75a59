//! The UDP sockets for host caches: we ask caches for hosts over them and
//! answer those who ask us, on the ports where neighbours connect, as the
//! protocol expects. Pages ask there for their own address.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use servent_core::node::{Input, MessageInput};
use tokio::net::UdpSocket;

use super::stun::Stun;
use super::{Report, Reports};
use crate::clock::Clock;

/// The largest datagram that is read.
const MOST: usize = 2_048;

/// The sockets; none without the overlay.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caches(Vec<Arc<UdpSocket>>);

impl Caches {
    /// Binds one beside each of these listeners. A socket that cannot be bound
    /// is left out: neighbours are found in other ways too.
    pub(crate) async fn bind(listeners: &[SocketAddr]) -> Self {
        let beside = |at: &SocketAddr| match at {
            SocketAddr::V4(_) => Some(*at),
            SocketAddr::V6(six) if six.ip().is_unspecified() => {
                Some(SocketAddr::from((Ipv4Addr::UNSPECIFIED, six.port())))
            }
            SocketAddr::V6(_) => None,
        };
        let wanted: BTreeSet<SocketAddr> = listeners.iter().filter_map(beside).collect();
        let mut sockets = Vec::new();
        for at in wanted {
            match UdpSocket::bind(at).await {
                Ok(socket) => sockets.push(Arc::new(socket)),
                Err(why) => tracing::debug!(%at, %why, "no hosts are asked over UDP from here"),
            }
        }
        Self(sockets)
    }

    /// Receives until the node's task ends. Where pages take part they are told
    /// their address.
    pub(crate) fn listen(&self, reports: &Reports, pages: bool) {
        for socket in &self.0 {
            let stun = pages.then(Stun::default);
            tokio::spawn(receive_datagrams(Arc::clone(socket), stun, reports.clone()));
        }
    }

    /// Sends one, or loses it as a network would.
    pub(crate) fn send(&self, to: SocketAddr, data: &Bytes) {
        if let Some(socket) = self.0.first() {
            let _ = socket.try_send_to(data, to);
        }
    }
}

async fn receive_datagrams(socket: Arc<UdpSocket>, mut stun: Option<Stun>, reports: Reports) {
    let clock = Clock::new();
    let mut buffer = vec![0; MOST];
    loop {
        // An error about one peer is reported on the shared socket; keep going.
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            () = reports.closed() => return,
        };
        let Ok((length, from)) = received else {
            tokio::task::yield_now().await;
            continue;
        };
        let told = stun.as_mut().and_then(|it| it.answer(clock.now(), from, &buffer[..length]));
        if let Some(told) = told {
            let _ = socket.try_send_to(&told, from); // Or it is lost as in a network.
            continue;
        }
        let data = Bytes::copy_from_slice(&buffer[..length]);
        let input =
            Input::Messages(MessageInput::Datagrams { from, segment: length.max(1) as u32, data });
        if reports.send(Report::Input(input)).await.is_err() {
            return;
        }
    }
}
