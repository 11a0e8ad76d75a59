//! `rusty_enet`: reliable packets on one channel, MTU 1400, its own window of
//! at most 64 KB and no congestion control besides.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rusty_enet::{EventNoRef, Host, HostSettings, Packet, PacketKind, PeerID};

use crate::meter::{Meter, ready, when_stopped};
use crate::words::{Counted, Job, Ready};

const MTU: u16 = 1_400;
/// Packets handed to it ahead of what it has sent.
const AHEAD: usize = 4_096;
/// Its timers are looked at so often.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

struct Ends {
    host: Host<UdpSocket>,
    wait: UdpSocket,
}

fn bind() -> Result<(Ends, SocketAddr)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let raw = socket2::SockRef::from(&socket);
    raw.set_recv_buffer_size(4 << 20)?;
    raw.set_send_buffer_size(4 << 20)?;
    let (at, wait) = (socket.local_addr()?, socket.try_clone()?);
    let settings = HostSettings { peer_limit: 1, channel_limit: 1, ..HostSettings::default() };
    let mut host = Host::new(socket, settings).map_err(|why| anyhow!("{why:?}"))?;
    host.set_mtu(MTU).map_err(|why| anyhow!("{why:?}"))?;
    Ok((Ends { host, wait }, at))
}

impl Ends {
    /// Sleeps until a datagram is there, or for one tick of its timers.
    fn sleep(&self) -> Result<()> {
        poll(&mut [PollFd::new(&self.wait, PollFlags::IN)], Some(&TICK))?;
        Ok(())
    }
}

pub(crate) fn receive(job: &Job) -> Result<Counted> {
    let (mut ends, at) = bind()?;
    ready(at, Vec::new())?;
    let mut meter = Meter::new(job);
    loop {
        while let Some(event) = ends.host.service()? {
            if matches!(event.no_ref(), EventNoRef::Receive { .. })
                && let Some(counted) = meter.count(1)
            {
                return Ok(counted);
            }
        }
        ends.sleep()?;
    }
}

pub(crate) fn send(job: &Job, to: &Ready) -> Result<()> {
    when_stopped(|| ());
    let (mut ends, _) = bind()?;
    ends.host.connect(to.at, 1, 0)?;
    let message: Rc<[u8]> = vec![7; job.size].into();
    let mut peer: Option<PeerID> = None;
    loop {
        while let Some(event) = ends.host.service()? {
            if let EventNoRef::Connect { peer: it, .. } = event.no_ref() {
                peer = Some(it);
            }
        }
        let mut fed = false;
        if let Some(peer) = peer {
            while Rc::strong_count(&message) < AHEAD {
                let packet = Packet::new(Box::new(Rc::clone(&message)), PacketKind::Reliable);
                let peer = ends.host.get_peer_mut(peer).context("the peer is gone")?;
                peer.send(0, &packet).map_err(|why| anyhow!("{why:?}"))?;
                fed = true;
            }
            ends.host.flush();
        }
        if !fed {
            ends.sleep()?;
        }
    }
}
