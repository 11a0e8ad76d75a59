//! Servents of the local network, by multicast DNS: announces us and listens
//! for others, as `_gnutella._tcp`. Off unless enabled.
//!
//! Addresses that are announced are passed to the node, which accepts only
//! addresses of a local network, and keeps no more of them than of any others.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use mdns_sd::{Receiver, ServiceEvent};
use servent::driver::Handle;
use servent_core::node::{NodeCommand, OverlayCommand};

use super::mdns::{Announcement, LocalNetwork};
use crate::cli::control::token;
use crate::exit::{Exit, Failure};

/// The service name of Gnutella servents in a local network.
const SERVICE: &str = "_gnutella._tcp.local.";
/// The most addresses of one servent that are passed to the node.
const ADDRESSES: usize = 4;

/// Announces us and listens for others until dropped.
pub(crate) struct Lan {
    /// Without a name when we only listen.
    _network: LocalNetwork,
}

impl Lan {
    /// Starts. `listen` is where we are reached; empty to only look for others.
    pub(crate) fn start(handle: &Handle, listen: &[SocketAddr]) -> Result<Self, Failure> {
        let mut network = LocalNetwork::new().map_err(|e| failed(&e))?;
        if let Some(first) = listen.first() {
            announce(&mut network, first.port(), listen)?;
        }
        let heard = network.daemon.browse(SERVICE).map_err(|e| failed(&e))?;
        let (name, handle) = (network.name.clone(), handle.clone());
        let runtime = tokio::runtime::Handle::current();
        let listening = std::thread::Builder::new().name("lan".into());
        let listening = listening.spawn(move || {
            follow(&heard, name.as_deref(), |at| {
                runtime
                    .block_on(handle.command(NodeCommand::Overlay(OverlayCommand::Nearby { at })))
                    .is_ok()
            });
        });
        listening.map_err(|e| Failure::new(Exit::Failed, format!("cannot start a thread: {e}")))?;
        Ok(Self { _network: network })
    }
}

/// Reports every address that others announce, until there is nothing more to
/// receive or no receiver.
fn follow(
    heard: &Receiver<ServiceEvent>,
    name: Option<&str>,
    mut tell: impl FnMut(SocketAddr) -> bool,
) {
    while let Ok(event) = heard.recv() {
        let ServiceEvent::ServiceResolved(other) = event else { continue };
        if name.is_some_and(|name| name.eq_ignore_ascii_case(other.get_fullname())) {
            continue;
        }
        // In a fixed order, whatever order they were found in; IPv4 first.
        let addresses: BTreeSet<IpAddr> =
            other.get_addresses().iter().map(mdns_sd::ScopedIp::to_ip_addr).collect();
        for ip in addresses.into_iter().take(ADDRESSES) {
            if !tell(SocketAddr::new(ip, other.get_port())) {
                return;
            }
        }
    }
}

/// Announces where we are reached.
fn announce(network: &mut LocalNetwork, port: u16, listen: &[SocketAddr]) -> Result<(), Failure> {
    let name = format!("servent-{}", &token()?[..8]);
    let (host, listen) = (format!("{name}.local."), listen.iter().map(SocketAddr::ip));
    let listen: Vec<IpAddr> = listen.collect();
    let ours = Announcement { service: SERVICE, name: &name, host: &host, listen: &listen, port };
    network.announce(&ours).map_err(|e| failed(&e))
}

fn failed(why: &mdns_sd::Error) -> Failure {
    Failure::new(Exit::Network, format!("cannot look around in the local network: {why}"))
        .next("leave out --lan and name a servent with --peer HOST:PORT")
}
