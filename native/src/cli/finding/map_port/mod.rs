//! A port that the router forwards to us (`--map-port`, PA-11): asked for, renewed as
//! long as we run, and given back at the end.

mod router;
mod visit;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use servent::driver::Handle;
use servent_core::address::{Reach, reach};
use servent_core::node::NodeCommand;
use servent_core::time;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use self::router::RouterPort;
pub(crate) use self::visit::VisitPort;
use crate::config::Settings;
use crate::progress::Reporter;

/// How long until a router that gave no port is asked again: it may have been
/// exchanged, or started again.
const AGAIN: Duration = Duration::from_secs(600);
/// How long the end may wait for the router.
const GOODBYE: Duration = Duration::from_secs(2);

/// What a port is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortProtocol {
    Tcp,
    Udp,
}

/// Which port is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortWish {
    pub(crate) protocol: PortProtocol,
    /// Ours, and if it is free that of the router.
    pub(crate) port: u16,
    /// For how long it is asked for, each time; half of that later again.
    pub(crate) lease: time::Duration,
}

/// What the router has said so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskedPort {
    NotYet,
    Refused,
    /// It forwards to us what comes there from outside.
    Given(SocketAddr),
}

/// A port that is kept until it is given back.
pub(crate) struct PortLease {
    end: oneshot::Sender<()>,
    keeping: JoinHandle<()>,
    asked: watch::Receiver<AskedPort>,
}

impl PortLease {
    /// Begins to ask.
    pub(crate) fn begin(wish: PortWish, reporter: Reporter) -> Self {
        let (end, ends) = oneshot::channel();
        let (told, asked) = watch::channel(AskedPort::NotYet);
        let keeper = PortKeeper { wish, reporter, told };
        Self { end, keeping: tokio::spawn(keeper.keep(ends)), asked }
    }

    /// The same for the first address on which a servent listens for TCP, if that is
    /// set; the servent says from then on that it is reached from outside there.
    pub(crate) fn of_servent(
        settings: &Settings,
        (handle, addrs): (&Handle, &[SocketAddr]),
        reporter: Reporter,
    ) -> Option<Self> {
        let first = *addrs.first().filter(|_| settings.map_port)?;
        let (protocol, lease) = (PortProtocol::Tcp, settings.map_port_for);
        let Some(listen) = reachable(addrs) else {
            PortWish { protocol, port: first.port(), lease }.say_loopback(&reporter);
            return None;
        };
        let lease = Self::begin(PortWish { protocol, port: listen.port(), lease }, reporter);
        let (asked, handle) = (lease.asked.clone(), handle.clone());
        tokio::spawn(introduce(asked, handle, settings.announce.unwrap_or(first)));
        Some(lease)
    }

    /// Where we are reached from outside, as soon as the router has answered.
    pub(crate) async fn outside(&self) -> Option<SocketAddr> {
        let mut asked = self.asked.clone();
        let answer = asked.wait_for(|it| *it != AskedPort::NotYet).await.ok()?;
        match *answer {
            AskedPort::Given(outside) => Some(outside),
            AskedPort::NotYet | AskedPort::Refused => None,
        }
    }

    /// Gives a port back, if there is one.
    pub(crate) async fn give_back(lease: Option<Self>) {
        let Some(Self { end, keeping, .. }) = lease else { return };
        drop(end);
        let _ = timeout(GOODBYE, keeping).await; // A router that is gone keeps nothing.
    }
}

/// The first address that a router can forward to, IPv4 before others.
fn reachable(addrs: &[SocketAddr]) -> Option<SocketAddr> {
    let of_network = || addrs.iter().filter(|at| !at.ip().to_canonical().is_loopback());
    of_network().find(|at| at.is_ipv4()).or_else(|| of_network().next()).copied()
}

/// Tells the servent where it is reached, for others.
async fn introduce(mut asked: watch::Receiver<AskedPort>, handle: Handle, listen: SocketAddr) {
    while asked.changed().await.is_ok() {
        let at = match *asked.borrow_and_update() {
            AskedPort::Given(outside) if is_of_world(outside) => outside,
            AskedPort::Given(_) | AskedPort::NotYet | AskedPort::Refused => listen,
        };
        if handle.command(NodeCommand::Listening { at }).await.is_err() {
            return;
        }
    }
}

/// False for the outside of a router that is behind another one.
fn is_of_world(outside: SocketAddr) -> bool {
    reach(outside.ip()) == Reach::World
}

/// Keeps a port until its end.
struct PortKeeper {
    wish: PortWish,
    reporter: Reporter,
    told: watch::Sender<AskedPort>,
}

impl PortKeeper {
    /// `ends` resolves when the port is not needed any more.
    async fn keep(self, mut ends: oneshot::Receiver<()>) {
        let mut said = None;
        loop {
            let asked = tokio::select! {
                asked = RouterPort::ask(self.wish) => asked,
                _ = &mut ends => return, // What was given without our hearing it expires.
            };
            let why = match asked {
                Ok(port) => match self.hold(port, &mut ends).await {
                    Some(why) => why,
                    None => return,
                },
                Err(why) => why,
            };
            self.told.send_replace(AskedPort::Refused);
            if said.as_ref() != Some(&why) {
                self.say_refused(&why);
                said = Some(why);
            }
            tokio::select! {
                () = sleep(AGAIN) => {}
                _ = &mut ends => return,
            }
        }
    }

    /// Renews it until the end, or returns why that was not possible.
    async fn hold(&self, mut port: RouterPort, ends: &mut oneshot::Receiver<()>) -> Option<String> {
        self.say_given(&port);
        self.told.send_replace(AskedPort::Given(port.outside));
        loop {
            tokio::select! {
                () = sleep(self.wish.half()) => {}
                _ = &mut *ends => {
                    if let Err(why) = port.give_back(self.wish).await {
                        tracing::info!(why, "the router does not take its port back");
                    }
                    return None;
                }
            }
            if let Err(why) = port.renew(self.wish).await {
                return Some(why);
            }
            self.reporter.fact(&json!({ "event": "port_renewed", "outside": port.outside }));
        }
    }

    fn say_given(&self, port: &RouterPort) {
        let (outside, by, name) = (port.outside, port.protocol(), self.wish.name());
        let fact = json!({
            "event": "port_mapped", "outside": outside, "protocol": self.wish.protocol.word(),
            "by": by,
        });
        let behind = match is_of_world(outside) {
            true => "",
            false => "; it is behind another router, which still lets nothing in",
        };
        let sentence = format!("the router forwards {outside} to our {name} ({by}){behind}");
        self.reporter.tell(&fact, &sentence);
    }

    fn say_refused(&self, why: &str) {
        let next = "forward it in the router's own page";
        self.wish.say_refused((why, next), &self.reporter);
    }
}

impl PortWish {
    /// Says that no router is asked, because it could forward nothing.
    fn say_loopback(self, reporter: &Reporter) {
        let why = "it is bound to this machine's own address, which no router reaches";
        let next = "listen on another one with --listen, or leave --map-port out";
        self.say_refused((why, next), reporter);
    }

    /// Says why there is no port, and what helps.
    fn say_refused(self, (why, next): (&str, &str), reporter: &Reporter) {
        let (name, protocol) = (self.name(), self.protocol.word());
        let fact = json!({ "event": "no_port", "protocol": protocol, "why": why });
        reporter.tell(&fact, &format!("our {name} is not forwarded: {why}; {next}"));
    }

    /// As protocols of routers say it.
    fn seconds(self) -> u32 {
        u32::try_from(self.lease.as_secs()).unwrap_or(u32::MAX).max(1)
    }

    fn half(self) -> Duration {
        Duration::from_micros(self.lease.as_micros() / 2)
    }

    fn name(self) -> String {
        format!("{} port {}", self.protocol.word().to_uppercase(), self.port)
    }
}

impl PortProtocol {
    const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_forwards_to_an_address_of_the_network() {
        let found = |texts: &[&str]| {
            let addrs: Vec<SocketAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
            reachable(&addrs).map(|at| at.to_string())
        };
        assert_eq!(found(&["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"]), None);
        assert_eq!(found(&["127.0.0.1:1", "10.0.0.7:2"]).as_deref(), Some("10.0.0.7:2"));
        assert_eq!(found(&["[fd00::1]:1", "0.0.0.0:2"]).as_deref(), Some("0.0.0.0:2"));
        assert_eq!(found(&["127.0.0.1:1", "[::]:2"]).as_deref(), Some("[::]:2"));
    }
}
