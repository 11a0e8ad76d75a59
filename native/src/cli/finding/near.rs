//! Finding the receiver in the local network by the code alone, by multicast DNS
//! (PA-14). What is announced is the hash of the code's first two words; the others
//! admit the sender.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use data_encoding::HEXLOWER;
use if_addrs::{IfAddr, get_if_addrs};
use mdns_sd::{ResolvedService, ServiceEvent};
use servent::Clock;
use servent::transfer::TransferCode;
use servent::unicast::MeetingSecret;

use super::mdns::{Announcement, LocalNetwork};
use super::via;
use crate::exit::{Exit, Failure};

/// The service name of those who receive.
const SERVICE: &str = "_servent-recv._udp.local.";
/// How long a receiver may take to answer.
const ANSWER: Duration = Duration::from_secs(4);
/// How often it is looked whether the user has stopped.
const GLANCE: Duration = Duration::from_millis(100);

/// A receiver that is announced until dropped.
pub(crate) struct AnnouncedReceiver {
    _network: LocalNetwork,
}

impl AnnouncedReceiver {
    /// Announces who listens at an address for the senders of a meeting.
    pub(crate) fn start(at: SocketAddr, secret: MeetingSecret) -> Result<Self, Failure> {
        let mut network = LocalNetwork::new().map_err(|e| failed(&e))?;
        let name = name(secret);
        let host = format!("servent-{}.local.", &name[..8]);
        let (listen, port) = ([at.ip()], at.port());
        let ours =
            Announcement { service: SERVICE, name: &name, host: &host, listen: &listen, port };
        network.announce(&ours).map_err(|e| failed(&e))?;
        Ok(Self { _network: network })
    }
}

/// The part of a code by which a receiver is found, and the one for the transfer.
pub(crate) fn split(code: &TransferCode) -> Result<(MeetingSecret, TransferCode), Failure> {
    via::split(code).map_err(|_| {
        Failure::usage("this code is too short to find a receiver in the local network by").next(
            "start `servent receive --lan` there, which shows one of five words; or name the \
             receiver: servent send HOST FILE",
        )
    })
}

/// Where the receiver of a meeting is.
pub(crate) async fn find(secret: MeetingSecret) -> Result<SocketAddr, Failure> {
    let searching = tokio::task::spawn_blocking(move || search(&name(secret)));
    searching.await.unwrap_or_else(|_| Err(absent()))
}

fn search(name: &str) -> Result<SocketAddr, Failure> {
    let network = LocalNetwork::new().map_err(|e| failed(&e))?;
    let heard = network.daemon.browse(SERVICE).map_err(|e| failed(&e))?;
    let clock = Clock::new();
    let begun = clock.now();
    let waits = || u128::from(clock.now().since(begun).as_micros()) < ANSWER.as_micros();
    let mut found = None;
    while found.is_none() && waits() {
        if let Ok(ServiceEvent::ServiceResolved(other)) = heard.recv_timeout(GLANCE)
            && other.get_fullname().split('.').next() == Some(name)
        {
            found = place(&other);
        }
    }
    found.ok_or_else(absent)
}

/// The address at which it is reached: one of a network that we are in, before others.
fn place(other: &ResolvedService) -> Option<SocketAddr> {
    let addresses = other.get_addresses().iter().map(mdns_sd::ScopedIp::to_ip_addr);
    let v4: Vec<Ipv4Addr> = addresses
        .filter_map(|ip| match ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        })
        .collect();
    let networks: Vec<(Ipv4Addr, Ipv4Addr)> = get_if_addrs()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|interface| match interface.addr {
            IfAddr::V4(ours) => Some((ours.ip, ours.netmask)),
            IfAddr::V6(_) => None,
        })
        .collect();
    let nearest = v4.iter().find(|ip| networks.iter().any(|network| is_in(**ip, *network)));
    nearest.or(v4.first()).map(|ip| SocketAddr::new((*ip).into(), other.get_port()))
}

/// True for an address of the network of another one.
const fn is_in(ip: Ipv4Addr, (ours, mask): (Ipv4Addr, Ipv4Addr)) -> bool {
    let mask = mask.to_bits();
    ip.to_bits() & mask == ours.to_bits() & mask
}

/// What a receiver is announced as.
fn name(secret: MeetingSecret) -> String {
    HEXLOWER.encode(&secret.meeting.0)
}

fn absent() -> Failure {
    Failure::new(Exit::Network, "no receiver with this code is found in the local network").next(
        "start `servent receive --lan` there, and check the code; where multicast is blocked, \
         name the receiver: servent send HOST FILE",
    )
}

fn failed(why: &mdns_sd::Error) -> Failure {
    Failure::new(Exit::Network, format!("cannot look around in the local network: {why}"))
        .next("leave out --lan, and name the receiver: servent send HOST FILE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_our_own_network_is_nearer() {
        let network = ([192, 168, 1, 9].into(), [255, 255, 255, 0].into());
        assert!(is_in([192, 168, 1, 200].into(), network));
        assert!(!is_in([192, 168, 2, 9].into(), network));
    }
}
