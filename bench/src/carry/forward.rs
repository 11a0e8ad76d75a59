//! The lossy forwarder: a process between sender and receiver that throws
//! datagrams away and lets others wait, the same for every contender.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Result;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use servent_core::rng::Rng;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::meter::{now, ready, when_stopped};
use crate::ours::LONE;
use crate::words::{Cost, Way as Job};

/// Room for what the kernel may join into one buffer.
const BUFFER: usize = 65_536;
const KERNEL_BUFFER: usize = 4 << 20;

#[derive(Default)]
struct Count {
    datagrams: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    lost_bytes: AtomicU64,
}

impl Count {
    fn cost(&self) -> Cost {
        Cost {
            datagrams: self.datagrams.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            lost: self.lost.load(Relaxed),
            lost_bytes: self.lost_bytes.load(Relaxed),
        }
    }
}

/// A socket that takes and gives many datagrams at once.
struct Wire {
    udp: UdpSocket,
    state: UdpSocketState,
}

impl Wire {
    fn bind() -> Result<Self> {
        let raw = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        raw.set_recv_buffer_size(KERNEL_BUFFER)?;
        raw.set_send_buffer_size(KERNEL_BUFFER)?;
        raw.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let state = UdpSocketState::new((&raw).into())?;
        Ok(Self { udp: UdpSocket::from_std(raw.into())?, state })
    }

    async fn give(&self, to: SocketAddr, contents: &[u8], segment: usize) {
        let segment_size = (segment < contents.len()).then_some(segment);
        let transmit =
            Transmit { destination: to, ecn: None, contents, segment_size, src_ip: None };
        loop {
            let sent = self
                .udp
                .try_io(Interest::WRITABLE, || self.state.try_send((&self.udp).into(), &transmit));
            match sent {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    let _ = self.udp.writable().await;
                }
                // A receiver that has gone does not matter here.
                _ => return,
            }
        }
    }
}

/// One direction.
struct Direction {
    from: Arc<Wire>,
    onto: Arc<Wire>,
    /// Where it goes: fixed, or the last sender on the other side.
    to: Option<SocketAddr>,
    /// Who spoke last on either side.
    sender: Arc<OnceLock<SocketAddr>>,
    count: Arc<Count>,
    dice: Rng,
    /// Datagrams with a lone message since one was lost.
    lone: u64,
    job: Job,
    waiting: VecDeque<(Instant, usize, Vec<u8>)>,
}

/// Forwards until it is told to stop; its last word is the tolls to the
/// receiver and back.
pub(crate) fn run(job: &Job) -> Result<()> {
    let job = *job;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let (front, back) = (Arc::new(Wire::bind()?), Arc::new(Wire::bind()?));
        let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
        let told = counts.clone();
        when_stopped(move || told.map(|count| count.cost()));
        ready(front.udp.local_addr()?, Vec::new())?;
        let sender = Arc::new(OnceLock::new());
        let way = |from: &Arc<Wire>, onto: &Arc<Wire>, to, direction: u64| Direction {
            from: Arc::clone(from),
            onto: Arc::clone(onto),
            to,
            sender: Arc::clone(&sender),
            count: Arc::clone(&counts[direction as usize]),
            dice: Rng::new(job.seed).fork("way", direction),
            lone: 0,
            job,
            waiting: VecDeque::new(),
        };
        let (there, here) = (way(&front, &back, Some(job.to), 0), way(&back, &front, None, 1));
        tokio::join!(there.run(), here.run());
        Ok(())
    })
}

impl Direction {
    async fn run(mut self) {
        let mut inward = vec![0; BUFFER * BATCH_SIZE].into_boxed_slice();
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        loop {
            self.give_due().await;
            let due = self.waiting.front().map(|(at, ..)| *at);
            let later = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.from.udp.readable() => {}
                () = later => continue,
            }
            let Wire { udp, state } = &*self.from;
            let received = udp.try_io(Interest::READABLE, || {
                let mut chunks = inward.chunks_mut(BUFFER);
                let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                    std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
                state.recv(udp.into(), &mut slices, &mut metas)
            });
            for i in 0..received.unwrap_or(0) {
                let RecvMeta { addr, len, stride, .. } = metas[i];
                if self.to.is_some() {
                    let _ = self.sender.set(addr);
                }
                let joined = &mut inward[i * BUFFER..][..len];
                let kept = self.thin_out(joined, stride.max(1));
                if kept > 0 && self.job.delay_us == 0 {
                    self.give(&joined[..kept], stride).await;
                } else if kept > 0 {
                    let at = now() + Duration::from_micros(self.job.delay_us);
                    self.waiting.push_back((at, stride, joined[..kept].to_vec()));
                }
            }
        }
    }

    /// Throws datagrams away and moves the others together; the bytes kept.
    fn thin_out(&mut self, joined: &mut [u8], stride: usize) -> usize {
        let (mut at, mut kept) = (0, 0);
        while at < joined.len() {
            let length = stride.min(joined.len() - at);
            self.count.datagrams.fetch_add(1, Relaxed);
            self.count.bytes.fetch_add(length as u64, Relaxed);
            let Job { loss, every, .. } = self.job;
            self.lone += u64::from(length >= LONE && self.to.is_some());
            let turn = length >= LONE && every > 0 && self.lone >= every;
            self.lone = if turn { 0 } else { self.lone };
            if turn || (loss > 0 && self.dice.chance(loss, 10_000)) {
                self.count.lost.fetch_add(1, Relaxed);
                self.count.lost_bytes.fetch_add(length as u64, Relaxed);
            } else {
                joined.copy_within(at..at + length, kept);
                kept += length;
            }
            at += length;
        }
        kept
    }

    async fn give(&self, contents: &[u8], segment: usize) {
        if let Some(to) = self.to.or_else(|| self.sender.get().copied()) {
            self.onto.give(to, contents, segment).await;
        }
    }

    async fn give_due(&mut self) {
        while self.waiting.front().is_some_and(|(at, ..)| *at <= now()) {
            let Some((_, segment, contents)) = self.waiting.pop_front() else { return };
            self.give(&contents, segment).await;
        }
    }
}
