//! Pages cannot listen. Each may hold a line to us, on which it is told that
//! a servent calls; it answers with a connection of its own, and from then on
//! what the two send passes through here. Neither node knows: one has dialed,
//! the other has accepted.
//!
//! This is the register of lines and calls, with its limits; `relaying` moves
//! the bytes.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddrV4};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servent_core::address::owner;
use servent_core::time::Instant;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::dice;

/// The first byte of the addresses at which pages are called: no host on earth
/// has one of those (RFC 1112 §4), so a program that does not know of this finds
/// no host there.
const PAGES: std::ops::RangeInclusive<u8> = 240..=254;
/// The lowest port of such an address, as of all that strangers may dial.
const PORTS: u16 = 1_024;
/// Letters of a secret or a ticket.
const SECRET: usize = 32;
/// Calls that may wait to be told on one line.
const TOLD: usize = 64;
/// What a line is told last when another one with its secret takes its place:
/// a page that still reads it is a second tab of the same servent.
pub(crate) const MOVED: &str = "MOVED\n";

/// Limits of what passes through us from page to page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayLimits {
    /// Pages that can be called.
    pub pages: u32,
    /// The same of one address; a /64 network of IPv6 counts as one.
    pub pages_per_ip: u32,
    /// Calls in total, each of them two connections.
    pub calls: u32,
    /// Calls to one page.
    pub calls_per_page: u32,
    /// Calls from one address.
    pub calls_per_ip: u32,
    /// Bytes of one call, in both directions together; it is ended there, and
    /// a download goes on with the next one.
    pub bytes: u64,
    /// Bytes by which two pages arrange a way of their own, in both directions
    /// together: this is no way to pass anything else.
    pub signal_bytes: u64,
    /// How long they may take for that.
    pub signal: Duration,
    /// How long a page may take to answer a call.
    pub answer: Duration,
    /// How long a page that is gone keeps its address.
    pub kept: Duration,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            pages: 256,
            pages_per_ip: 64,
            calls: 512,
            calls_per_page: 16,
            calls_per_ip: 64,
            bytes: 4 << 30,
            signal_bytes: 64 << 10,
            signal: Duration::from_secs(60),
            answer: Duration::from_secs(10),
            kept: Duration::from_secs(600),
        }
    }
}

/// What passes through a servent from page to page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relayed {
    /// Pages that can be called now.
    pub pages: usize,
    /// Calls now.
    pub calls: usize,
    /// Calls that were answered since the start.
    pub answered: u64,
    /// The same of calls by which two pages arranged, or tried to arrange, a way
    /// of their own; they are no part of the other numbers.
    pub signalled: u64,
    /// Calls and lines that were refused since the start, and signals that were
    /// longer than they may be.
    pub refused: u64,
    /// Bytes passed on since the start.
    pub bytes: u64,
}

/// Why a page is not put through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusedRelay {
    /// The address is no page's.
    NoPage,
    /// Another page has the address.
    Taken,
    /// There are as many as there may be.
    Full,
    /// The page has not answered.
    Silent,
    /// More was said than is needed to arrange a way.
    TooMuch,
}

/// The lines and calls of a servent.
#[derive(Debug)]
pub(crate) struct Relay<S> {
    pub(crate) limits: RelayLimits,
    clock: Clock,
    state: Mutex<State<S>>,
    answered: AtomicU64,
    signalled: AtomicU64,
    refused: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

#[derive(Debug)]
struct State<S> {
    pages: BTreeMap<SocketAddrV4, RelayedPage>,
    calls: BTreeMap<String, Call<S>>,
    /// Counts the lines, so that an old one does not hang up the new.
    lines: u64,
}

#[derive(Debug)]
struct RelayedPage {
    secret: String,
    owner: IpAddr,
    number: u64,
    line: Option<mpsc::Sender<String>>,
    left: Instant,
}

#[derive(Debug)]
struct Call<S> {
    to: SocketAddrV4,
    what: What,
    owner: IpAddr,
    /// Where the answer goes, until it is there.
    answer: Option<oneshot::Sender<S>>,
}

/// What two pages are put through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// For what their nodes say to each other.
    Bytes,
    /// To arrange a way on which we are not.
    Signal,
}

/// A line that a page holds; it is hung up when this is dropped.
pub(crate) struct HeldLine<S> {
    relay: Arc<Relay<S>>,
    at: SocketAddrV4,
    number: u64,
    /// What the page is told.
    pub(crate) told: mpsc::Receiver<String>,
}

/// A call; it is over when this is dropped.
pub(crate) struct Calling<S> {
    relay: Arc<Relay<S>>,
    pub(crate) what: What,
    ticket: String,
    answer: oneshot::Receiver<S>,
}

impl<S> Relay<S> {
    pub(crate) fn new(limits: RelayLimits) -> Self {
        Self {
            limits,
            clock: Clock::new(),
            state: Mutex::new(State { pages: BTreeMap::new(), calls: BTreeMap::new(), lines: 0 }),
            answered: AtomicU64::new(0),
            signalled: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has passed so far.
    pub(crate) fn relayed(&self) -> Relayed {
        let state = self.state();
        Relayed {
            pages: state.pages.values().filter(|page| page.line.is_some()).count(),
            calls: state.calls.values().filter(|call| call.what == What::Bytes).count(),
            answered: self.answered.load(Ordering::Relaxed),
            signalled: self.signalled.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Tells the pages of one address a line, or all of them. One that does not
    /// read is not waited for.
    pub(crate) fn tell(&self, address: Option<IpAddr>, line: &str) {
        let state = self.state();
        let pages = state.pages.values().filter(|page| address.is_none_or(|ip| page.owner == ip));
        for told in pages.filter_map(|page| page.line.as_ref()) {
            let _ = told.try_send(format!("{line}\n"));
        }
    }

    /// True when a page has this address, or had it a while ago, and this is its
    /// secret.
    pub(crate) fn has(&self, at: SocketAddrV4, secret: &str) -> bool {
        self.state().pages.get(&at).is_some_and(|page| page.secret == secret)
    }

    /// Tells the pages of an address that they are out, and hangs up.
    pub(crate) fn put_out(&self, ip: IpAddr) {
        self.tell(Some(ip), "OUT");
        self.state().pages.retain(|_, page| page.owner != ip);
    }

    pub(crate) fn refuse<T>(&self, why: RefusedRelay) -> Result<T, RefusedRelay> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(why)
    }

    /// A page wants to be called at an address it has drawn. A client that knows the
    /// secret has it again after a pause, and takes it over from a line that is
    /// dead and does not know yet.
    pub(crate) fn listen(
        self: &Arc<Self>,
        (at, secret): (SocketAddrV4, &str),
        from: IpAddr,
    ) -> Result<HeldLine<S>, RefusedRelay> {
        self.listen_at((at, secret), owner(from), self.clock.now())
    }

    fn listen_at(
        self: &Arc<Self>,
        (at, secret): (SocketAddrV4, &str),
        from: IpAddr,
        now: Instant,
    ) -> Result<HeldLine<S>, RefusedRelay> {
        let limits = &self.limits;
        let mut state = self.state();
        let live = |page: &RelayedPage| page.line.is_some();
        state.pages.retain(|_, page| live(page) || !is_over(page.left, limits.kept, now));
        match state.pages.get(&at) {
            Some(page) if page.secret != secret => return self.refuse(RefusedRelay::Taken),
            Some(page) => {
                // A page that has opened the line again reads this one no more.
                if let Some(line) = &page.line {
                    let _ = line.try_send(MOVED.to_owned());
                }
            }
            None => {
                let of_ip = state.pages.values().filter(|page| page.owner == from).count();
                if of_ip >= limits.pages_per_ip as usize {
                    return self.refuse(RefusedRelay::Full);
                }
                if state.pages.len() >= limits.pages as usize {
                    // A page that is gone gives way to one that is here.
                    let gone = state.pages.iter().filter(|(_, page)| !live(page));
                    let Some(oldest) = gone.min_by_key(|(_, page)| page.left).map(|(at, _)| *at)
                    else {
                        return self.refuse(RefusedRelay::Full);
                    };
                    state.pages.remove(&oldest);
                }
            }
        }
        state.lines += 1;
        let (number, (line, told)) = (state.lines, mpsc::channel(TOLD));
        let (secret, line) = (secret.to_owned(), Some(line));
        state.pages.insert(at, RelayedPage { secret, owner: from, number, line, left: now });
        drop(state);
        Ok(HeldLine { relay: Arc::clone(self), at, number, told })
    }

    /// A servent calls a page; it is told.
    pub(crate) fn call(
        self: &Arc<Self>,
        (what, to): (What, SocketAddrV4),
        from: std::net::SocketAddr,
    ) -> Result<Calling<S>, RefusedRelay> {
        let (owner, limits) = (owner(from.ip()), &self.limits);
        let mut state = self.state();
        let Some(line) = state.pages.get(&to).and_then(|page| page.line.clone()) else {
            return self.refuse(RefusedRelay::NoPage);
        };
        let to_page = state.calls.values().filter(|call| call.to == to).count();
        let of_ip = state.calls.values().filter(|call| call.owner == owner).count();
        if state.calls.len() >= limits.calls as usize
            || to_page >= limits.calls_per_page as usize
            || of_ip >= limits.calls_per_ip as usize
        {
            return self.refuse(RefusedRelay::Full);
        }
        let Some(ticket) = ticket() else { return self.refuse(RefusedRelay::Full) };
        let word = match what {
            What::Bytes => "CALL",
            What::Signal => "SIGNAL",
        };
        if line.try_send(format!("{word} {ticket} {from}\n")).is_err() {
            return self.refuse(RefusedRelay::Silent); // It does not read.
        }
        let (answer, answers) = oneshot::channel();
        state.calls.insert(ticket.clone(), Call { to, what, owner, answer: Some(answer) });
        drop(state);
        Ok(Calling { relay: Arc::clone(self), what, ticket, answer: answers })
    }

    /// A page answers a call; where its connection goes.
    pub(crate) fn take(&self, ticket: &str) -> Result<oneshot::Sender<S>, RefusedRelay> {
        let mut state = self.state();
        let answer = state.calls.get_mut(ticket).and_then(|call| call.answer.take());
        drop(state);
        answer.map_or_else(|| self.refuse(RefusedRelay::NoPage), Ok)
    }
}

/// True when `now` is so much later than `then`.
fn is_over(then: Instant, length: Duration, now: Instant) -> bool {
    u128::from(now.as_micros().saturating_sub(then.as_micros())) >= length.as_micros()
}

impl<S> Drop for HeldLine<S> {
    fn drop(&mut self) {
        let mut state = self.relay.state();
        if let Some(page) = state.pages.get_mut(&self.at)
            && page.number == self.number
        {
            (page.line, page.left) = (None, self.relay.clock.now());
        }
    }
}

impl<S> Calling<S> {
    /// Waits for the page's connection.
    pub(crate) async fn answered(&mut self) -> Result<S, RefusedRelay> {
        let answer = tokio::time::timeout(self.relay.limits.answer, &mut self.answer).await;
        match answer {
            Ok(Ok(stream)) => {
                let answered = match self.what {
                    What::Bytes => &self.relay.answered,
                    What::Signal => &self.relay.signalled,
                };
                answered.fetch_add(1, Ordering::Relaxed);
                Ok(stream)
            }
            _ => self.relay.refuse(RefusedRelay::Silent),
        }
    }
}

impl<S> Drop for Calling<S> {
    fn drop(&mut self) {
        self.relay.state().calls.remove(&self.ticket);
    }
}

/// Draws a ticket that cannot be guessed.
fn ticket() -> Option<String> {
    let bytes = dice::draw::<{ SECRET / 2 }>().ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a page asks for when it opens a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To speak with the servent itself.
    Servent,
    /// To be called at this address, which only who knows the secret can have.
    Listen(SocketAddrV4, String),
    /// To be put through to the page at this address.
    Call(What, SocketAddrV4),
    /// To answer the call with this ticket.
    Take(String),
}

impl Wish {
    /// Reads the path of an upgrade; `None` for one that means nothing.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix("/servent")?.split('/').skip(1);
        let wish = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) if path == "/servent" => Self::Servent,
            (Some("listen"), Some(at), Some(secret)) => {
                Self::Listen(page(at)?, hex(secret)?.to_owned())
            }
            (Some("call"), Some(at), None) => Self::Call(What::Bytes, page(at)?),
            (Some("signal"), Some(at), None) => Self::Call(What::Signal, page(at)?),
            (Some("take"), Some(ticket), None) => Self::Take(hex(ticket)?.to_owned()),
            _ => return None,
        };
        parts.next().is_none().then_some(wish)
    }
}

/// The address of a page.
fn page(text: &str) -> Option<SocketAddrV4> {
    let at: SocketAddrV4 = text.parse().ok()?;
    (PAGES.contains(&at.ip().octets()[0]) && at.port() >= PORTS).then_some(at)
}

fn hex(text: &str) -> Option<&str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (text.len() == SECRET && digits).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: [&str; 2] =
        ["00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"];

    fn relay(limits: RelayLimits) -> Arc<Relay<u8>> {
        Arc::new(Relay::new(limits))
    }

    fn at(n: u8) -> SocketAddrV4 {
        SocketAddrV4::new([240, 0, 0, n].into(), 5_000)
    }

    fn ip(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    #[test]
    fn a_path_says_what_is_wanted_and_nothing_else_is_understood() {
        let secret = SECRETS[0];
        let of = |path: &str| Wish::from_path(path);
        assert_eq!(of("/servent"), Some(Wish::Servent));
        let listen = format!("/servent/listen/240.0.0.1:5000/{secret}");
        assert_eq!(of(&listen), Some(Wish::Listen(at(1), secret.into())));
        assert_eq!(of("/servent/call/240.0.0.1:5000"), Some(Wish::Call(What::Bytes, at(1))));
        let signal = Some(Wish::Call(What::Signal, at(1)));
        assert_eq!(of("/servent/signal/240.0.0.1:5000"), signal);
        assert_eq!(of(&format!("/servent/take/{secret}")), Some(Wish::Take(secret.into())));
        for wrong in [
            "/servents",
            "/servent/",
            "/servent/call",
            "/servent/signal",
            "/servent/signal/10.0.0.1:6346",
            "/servent/call/10.0.0.1:6346", // An address of another host.
            "/servent/call/240.0.0.1:80",  // A port that may not be dialled.
            "/servent/call/255.255.255.255:5000",
            "/servent/call/240.0.0.1:5000/x",
            "/servent/take/short",
            "/servent/listen/240.0.0.1:5000/0011223344556677889900aabbccddxx",
            &format!("{listen}/"),
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_call_is_told_and_answered_once() {
        let relay = relay(RelayLimits::default());
        let mut line = relay.listen((at(1), SECRETS[0]), ip(1)).unwrap();
        let mut call = relay.call((What::Bytes, at(1)), "10.0.0.2:1234".parse().unwrap()).unwrap();
        let told = line.told.recv().await.unwrap();
        let ticket = told.strip_prefix("CALL ").and_then(|it| it.strip_suffix(" 10.0.0.2:1234\n"));
        let ticket = ticket.unwrap();
        relay.take(ticket).unwrap().send(7).unwrap();
        assert_eq!(call.answered().await, Ok(7));
        assert_eq!(relay.take(ticket).unwrap_err(), RefusedRelay::NoPage);
        assert_eq!(relay.relayed().calls, 1);
        drop(call);
        assert_eq!((relay.relayed().calls, relay.relayed().answered), (0, 1));
    }

    #[test]
    fn no_page_takes_the_address_of_another_and_its_owner_has_it_again() {
        let relay = relay(RelayLimits { kept: Duration::from_secs(60), ..RelayLimits::default() });
        let line = relay.listen((at(1), SECRETS[0]), ip(1)).unwrap();
        let other = |later: u64| {
            let now = relay.clock.now().as_micros() + later * 1_000_000;
            relay.listen_at((at(1), SECRETS[1]), ip(2), Instant::from_micros(now)).err()
        };
        assert_eq!(other(0), Some(RefusedRelay::Taken));
        // A line that has died unnoticed is taken over, and does not hang up the new one.
        let again = relay.listen((at(1), SECRETS[0]), ip(1)).unwrap();
        drop(line);
        assert_eq!(relay.relayed().pages, 1);
        drop(again);
        assert_eq!(relay.relayed().pages, 0);
        let gone = relay.call((What::Bytes, at(1)), "10.0.0.2:1".parse().unwrap());
        assert_eq!(gone.err(), Some(RefusedRelay::NoPage));
        assert_eq!(other(30), Some(RefusedRelay::Taken));
        assert_eq!(other(90), None);
    }

    #[test]
    fn every_limit_holds() {
        let limits = RelayLimits {
            pages: 3,
            pages_per_ip: 2,
            calls: 4,
            calls_per_page: 2,
            calls_per_ip: 3,
            ..RelayLimits::default()
        };
        let relay = relay(limits);
        let listen = |n, from| relay.listen((at(n), SECRETS[0]), ip(from));
        let (one, _two) = (listen(1, 1).unwrap(), listen(2, 1).unwrap());
        assert_eq!(listen(3, 1).err(), Some(RefusedRelay::Full), "of one address");
        let _three = listen(3, 2).unwrap();
        assert_eq!(listen(4, 3).err(), Some(RefusedRelay::Full), "in total");
        let call = |to, from: &str| {
            // What they speak of does not matter to the code that counts them.
            let what = if to == 1 { What::Bytes } else { What::Signal };
            relay.call((what, at(to)), format!("{from}:9").parse().unwrap())
        };
        let _a = call(1, "10.0.0.9").unwrap();
        let b = call(1, "10.0.0.9").unwrap();
        assert_eq!(call(1, "10.0.0.8").err(), Some(RefusedRelay::Full), "to one page");
        let _c = call(2, "10.0.0.9").unwrap();
        assert_eq!(call(2, "10.0.0.9").err(), Some(RefusedRelay::Full), "from one address");
        let _d = call(2, "10.0.0.8").unwrap();
        assert_eq!(call(3, "10.0.0.7").err(), Some(RefusedRelay::Full), "in total");
        assert_eq!(relay.relayed().refused, 5);
        drop(b);
        assert!(call(3, "10.0.0.7").is_ok());
        // A page that is gone gives way.
        drop(one);
        assert!(listen(4, 3).is_ok());
    }
}
