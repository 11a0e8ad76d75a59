//! Pages that listen, call and answer, in any order: a page that has an address keeps
//! it, a call is told to its page alone and answered once, and nothing is left.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::sync::Arc;

use crate::door::relay::{Calling, HeldLine, RefusedRelay, Relay, RelayLimits, What, Wish};

const LIMITS: RelayLimits = RelayLimits {
    pages: 4,
    pages_per_ip: 2,
    calls: 5,
    calls_per_page: 3,
    calls_per_ip: 4,
    bytes: 1_000,
    signal_bytes: 100,
    signal: std::time::Duration::from_secs(600),
    answer: std::time::Duration::from_secs(600),
    kept: std::time::Duration::from_secs(600),
};

struct Play {
    relay: Arc<Relay<u8>>,
    lines: Vec<(SocketAddrV4, String, HeldLine<u8>)>,
    calls: Vec<Calling<u8>>,
    /// Tickets that a page was told, and the caller of each.
    tickets: Vec<String>,
    /// How often each was taken.
    taken: BTreeMap<String, u32>,
}

/// True for addresses that pages have.
pub(crate) fn is_page(at: SocketAddrV4) -> bool {
    (240..=254).contains(&at.ip().octets()[0]) && at.port() >= 1_024
}

/// True for what may be a secret or a ticket.
pub(crate) fn is_secret(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn run(mut data: &[u8]) {
    let mut play = Play {
        relay: Arc::new(Relay::new(LIMITS)),
        lines: Vec::new(),
        calls: Vec::new(),
        tickets: Vec::new(),
        taken: BTreeMap::new(),
    };
    while let [op, what, rest @ ..] = data {
        data = rest;
        let (who, n) = (what & 3, usize::from(what >> 2));
        match op % 9 {
            0 | 1 => play.wish(&format!("/servent/listen/{}/{}", at(n), secret(*what)), who),
            2 => play.wish(&format!("/servent/call/{}", at(n)), who),
            3 => play.wish(&format!("/servent/signal/{}", at(n)), who),
            4 => {
                let ticket = play.tickets.get(n).cloned().unwrap_or_else(|| secret(*what));
                play.wish(&format!("/servent/take/{ticket}"), who);
            }
            5 if !play.lines.is_empty() => drop(play.lines.swap_remove(n % play.lines.len())),
            6 if !play.calls.is_empty() => drop(play.calls.swap_remove(n % play.calls.len())),
            7 => {
                play.relay.put_out(ip(who));
                play.relay.tell(None, "NOTE all");
            }
            _ => {
                let (path, rest) = data.split_at(data.len().min(usize::from(*op) / 2));
                data = rest;
                play.wish(&format!("/servent{}", String::from_utf8_lossy(path)), who);
            }
        }
        play.listen();
        let relayed = play.relay.relayed();
        assert!(relayed.pages <= LIMITS.pages as usize && relayed.pages <= play.lines.len());
        let for_bytes = play.calls.iter().filter(|call| call.what == What::Bytes).count();
        assert_eq!(relayed.calls, for_bytes);
        assert!(play.calls.len() <= LIMITS.calls as usize);
    }
    let Play { relay, lines, calls, .. } = play;
    drop((lines, calls));
    assert_eq!((relay.relayed().pages, relay.relayed().calls), (0, 0), "something is left");
}

fn at(n: usize) -> SocketAddrV4 {
    SocketAddrV4::new([240, 0, 0, (n % 6) as u8].into(), 5_000)
}

fn ip(who: u8) -> IpAddr {
    [10, 0, 0, who].into()
}

fn secret(n: u8) -> String {
    format!("{:032x}", n >> 6)
}

impl Play {
    /// A page opens a WebSocket with this path.
    fn wish(&mut self, path: &str, who: u8) {
        match Wish::from_path(path) {
            None | Some(Wish::Servent) => {}
            Some(Wish::Listen(at, secret)) => {
                assert!(is_page(at) && is_secret(&secret));
                let mut here = self.lines.iter().filter(|(has, _, line)| *has == at && lives(line));
                let taken = here.any(|(_, its, _)| *its != secret);
                match self.relay.listen((at, &secret), ip(who)) {
                    Ok(line) => {
                        assert!(!taken, "{at} is another page's");
                        self.lines.push((at, secret, line));
                    }
                    Err(why) => assert!(!taken || why == RefusedRelay::Taken),
                }
            }
            Some(Wish::Call(what, to)) => {
                assert!(is_page(to));
                if let Ok(call) = self.relay.call((what, to), SocketAddr::new(ip(who), 9)) {
                    self.calls.push(call);
                }
            }
            Some(Wish::Take(ticket)) => {
                assert!(is_secret(&ticket));
                if let Ok(answer) = self.relay.take(&ticket) {
                    assert!(self.tickets.contains(&ticket), "no page was told {ticket}");
                    let times = self.taken.entry(ticket).or_default();
                    *times += 1;
                    assert_eq!(*times, 1, "a ticket is good for one answer");
                    answer.send(who).expect("its call waits");
                }
            }
        }
    }

    /// Reads what the pages are told, and whether calls were answered.
    fn listen(&mut self) {
        for (_, _, line) in &mut self.lines {
            while let Ok(told) = line.told.try_recv() {
                assert!(told.ends_with('\n') && told.matches('\n').count() == 1, "{told:?}");
                let words = ["CALL ", "SIGNAL "];
                let Some(call) = words.iter().find_map(|word| told.strip_prefix(word)) else {
                    assert!(["OUT\n", "MOVED\n", "NOTE all\n"].contains(&&*told), "{told:?}");
                    continue;
                };
                let ticket = call.split(' ').next().unwrap_or_default();
                assert!(is_secret(ticket) && !self.tickets.iter().any(|it| it == ticket));
                self.tickets.push(ticket.to_owned());
            }
        }
    }
}

/// True while the relay may still tell it something.
fn lives(line: &HeldLine<u8>) -> bool {
    !line.told.is_closed()
}
