//! Servents of the local network, by multicast DNS: announces us and listens
//! for others, as `_gnutella._tcp`. Off unless enabled.
//!
//! Addresses that are announced are passed to the node, which accepts only
//! addresses of a local network, and keeps no more of them than of any others.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mdns_sd::{Receiver, ServiceDaemon, ServiceEvent, ServiceInfo};
use servent::driver::Handle;
use servent_core::node::{NodeCommand, OverlayCommand};

use super::control::token;
use crate::exit::{Exit, Failure};

/// The service name of Gnutella servents in a local network.
const SERVICE: &str = "_gnutella._tcp.local.";
/// How long to wait for the goodbye to be sent.
const GOODBYE: Duration = Duration::from_secs(1);
/// The most addresses of one servent that are passed to the node.
const ADDRESSES: usize = 4;

/// Announces us and listens for others until dropped.
pub(crate) struct Lan {
    daemon: ServiceDaemon,
    /// Our announced name; `None` when we only listen.
    name: Option<String>,
}

impl Lan {
    /// Starts. `listen` is where we are reached; empty to only look for others.
    pub(crate) fn start(handle: &Handle, listen: &[SocketAddr]) -> Result<Self, Failure> {
        let daemon = ServiceDaemon::new().map_err(|e| failed(&e))?;
        let mut lan = Self { daemon, name: None };
        if let Some(ourselves) = ourselves(listen)? {
            lan.name = Some(ourselves.get_fullname().to_owned());
            lan.daemon.register(ourselves).map_err(|e| failed(&e))?;
        }
        let heard = lan.daemon.browse(SERVICE).map_err(|e| failed(&e))?;
        let (name, handle) = (lan.name.clone(), handle.clone());
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
        Ok(lan)
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        // Then others need not wait for our record to expire.
        if let Some(gone) = self.name.as_ref().and_then(|name| self.daemon.unregister(name).ok()) {
            let _ = gone.recv_timeout(GOODBYE); // No reply is needed.
        }
        let _ = self.daemon.shutdown(); // It may have ended.
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

/// Our announcement; `None` when we listen nowhere.
fn ourselves(listen: &[SocketAddr]) -> Result<Option<ServiceInfo>, Failure> {
    let Some(first) = listen.first() else { return Ok(None) };
    let everywhere = listen.iter().any(|at| at.ip().is_unspecified());
    let here: Vec<IpAddr> =
        listen.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified()).collect();
    let name = format!("servent-{}", &token()?[..8]);
    let host = format!("{name}.local.");
    let nothing: &[(&str, &str)] = &[];
    let info = ServiceInfo::new(SERVICE, &name, &host, &here[..], first.port(), nothing)
        .map_err(|e| failed(&e))?;
    Ok(Some(if everywhere { info.enable_addr_auto() } else { info }))
}

fn failed(why: &mdns_sd::Error) -> Failure {
    Failure::new(Exit::Network, format!("cannot look around in the local network: {why}"))
        .next("leave out --lan and name a servent with --peer HOST:PORT")
}
