//! Servents of the local network, by multicast DNS: we say that we are here
//! and hear of the others, as `_gnutella._tcp`. Off unless asked for.
//!
//! What is heard is told to the node, which believes it only for addresses of
//! a local network, and keeps no more than it keeps of any others.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mdns_sd::{Receiver, ServiceDaemon, ServiceEvent, ServiceInfo};
use servent::driver::Handle;
use servent_core::node::Command;

use super::control::token;
use crate::exit::{Exit, Failure};

/// What servents of Gnutella are called in a local network.
const SERVICE: &str = "_gnutella._tcp.local.";
/// The longest wait for the goodbye to leave.
const GOODBYE: Duration = Duration::from_secs(1);
/// Addresses of one servent that are told to the node.
const ADDRESSES: usize = 4;

/// We are announced, and listen for others, until this goes.
pub(crate) struct Lan {
    daemon: ServiceDaemon,
    /// What we are called; `None` when we only listen.
    name: Option<String>,
}

impl Lan {
    /// Begins. `listen` is where we are reached; nowhere for those who only
    /// look for others.
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
                runtime.block_on(handle.command(Command::Nearby { at })).is_ok()
            });
        });
        listening.map_err(|e| Failure::new(Exit::Failed, format!("cannot start a thread: {e}")))?;
        Ok(lan)
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        // Others then need not wait until what they know of us expires.
        if let Some(gone) = self.name.as_ref().and_then(|name| self.daemon.unregister(name).ok()) {
            let _ = gone.recv_timeout(GOODBYE); // Nobody has to hear it.
        }
        let _ = self.daemon.shutdown(); // It may have ended.
    }
}

/// Tells of every address that others announce, until nothing more can come
/// or nobody listens.
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
        // In one order, whatever order they were found in; IPv4 first.
        let addresses: BTreeSet<IpAddr> =
            other.get_addresses().iter().map(mdns_sd::ScopedIp::to_ip_addr).collect();
        for ip in addresses.into_iter().take(ADDRESSES) {
            if !tell(SocketAddr::new(ip, other.get_port())) {
                return;
            }
        }
    }
}

/// What we say of ourselves; `None` when we listen nowhere.
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
