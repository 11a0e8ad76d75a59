//! `servent search`: searches an overlay and prints the hits.

mod browse;
mod group;
mod last;
mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use servent::driver::{Driver, Handle, ServentOptions, address_of, known_hosts};
use servent::error::StartError;
use servent_core::node::{NodeAnswer, NodeCommand, OverlayCommand, SearchHit};
use servent_core::text::Shown;
use servent_core::wire::http::Target;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use self::group::{FoundFiles, Sort};
pub(crate) use self::last::expand;
use self::last::{NumberedHits, met, remember};
pub(crate) use self::reach::{HitReach, HitRoute};
use super::control::ControlClient;
use super::finding::anywhere;
use super::finding::dial::check_port;
use super::finding::lan::Lan;
use super::start::{TraceFlag, make, runtime};
use super::{Common, print};
use crate::config::Config;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{Voice, bytes};
use crate::signal::Signals;

/// The id of the search; there is only one.
const SEARCH: u32 = 1;
/// How many hosts known from earlier are asked.
const CACHED: usize = 16;
/// A search ends when nothing has come for this long after every peer was asked: two
/// steps in which a neighbour asks further ones on our behalf (RT-18).
const SETTLED: Duration = Duration::from_secs(5);
/// The most servents whose meeting places are remembered in one search.
const MEETINGS: usize = 256;
/// How often it is looked whether every peer was asked.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Ask an overlay for files; prints hits as they come in.
///
/// Every word has to be in the name, in any order, with or without accents; three
/// letters or more stand for every word that begins with them. `urn:sha1:` asks for
/// one file by its hash. `servent get 3` takes the hit with that number; each line
/// ends with the address of the file. Ends when every peer was asked and nothing more
/// comes, or with Ctrl-C. `--browse` asks a single servent for everything it shares
/// instead.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent search gnutella protocol               through the servent that runs here, or
                                                 peers that it has met before
  servent get 3                                  downloads the third hit
  servent search gnutella protocol --peer 10.0.0.7:6346
  servent search ogg --sort sources              each file once, with all its sources
  servent search ogg --lan                       in the local network
  servent search ogg --peer 10.0.0.7:6346 --json --wait 30
  servent search --browse 10.0.0.7:6346          everything that one servent shares")]
pub(crate) struct SearchArgs {
    /// What to look for.
    #[arg(value_name = "WORD", required_unless_present = "browse")]
    words: Vec<String>,
    /// List what this servent shares; of it only what has the words, if any.
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["peer", "lan", "wait", "trace"])]
    browse: Option<String>,
    /// Join the overlay here, usually at port 6346; several are possible.
    #[arg(long, value_name = "HOST[:PORT]")]
    peer: Vec<String>,
    /// Find servents of the local network to ask.
    #[arg(long)]
    lan: bool,
    /// End at the latest when nothing new has come for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u64,
    /// Print nothing before the end, then every file once, with all its
    /// sources, in this order.
    #[arg(long, value_name = "ORDER", conflicts_with = "browse")]
    sort: Option<Sort>,
    #[command(flatten)]
    trace: TraceFlag,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &SearchArgs) -> Result<(), Failure> {
    let mut builder = common.builder()?;
    arguments.trace.put(&mut builder)?;
    let config = builder.finish()?;
    let voice = Voice::new(arguments.json, common.quiet);
    if let Some(name) = &arguments.browse {
        let agent = &config.settings.node.agent;
        let hits = NumberedHits::begin(&config.settings.state)?;
        return runtime()?.block_on(browse::browse(agent, arguments, (name, hits), voice));
    }
    let words = arguments.words.join(" ");
    if servent_core::wire::gnutella::words(&words).next().is_none() {
        return Err(Failure::usage("no word of two letters or more to look for"));
    }
    runtime()?.block_on(search(&config, arguments, words, voice))
}

/// The port of a neighbour that is named without one.
const PORT: u16 = 6346;

/// Resolves all of them; an error when one cannot be resolved.
pub(crate) async fn peers(names: &[String]) -> Result<Vec<SocketAddr>, Failure> {
    let mut found = Vec::new();
    for name in names {
        check_port(name)?;
        found.push(address_of(name, PORT).await.map_err(|e| {
            Failure::new(Exit::Network, format!("cannot find {name}: {}", error_text(&e)))
                .next("check the name and the network")
        })?);
    }
    Ok(found)
}

/// The peers to connect to: the named ones; else the servent that runs with our
/// state, which has neighbours; else the hosts it knew when it last ran, and the peers
/// that earlier searches met.
async fn peers_to_ask(
    config: &Config,
    named: &[String],
    lan: bool,
) -> Result<Vec<SocketAddr>, Failure> {
    if !named.is_empty() || lan {
        return peers(named).await;
    }
    let state = &config.settings.state;
    if let Ok(status) = ControlClient::for_state(state).get("/status?count=0").await {
        let here = status["servents"][0]["listen"].as_array().into_iter().flatten();
        let here = here.filter_map(|at| at.as_str()?.parse().ok()).map(from_here);
        let here: Vec<SocketAddr> = here.take(1).collect();
        if !here.is_empty() {
            return Ok(here);
        }
    }
    let mut known = known_hosts(state, CACHED).map_err(StartError::from)?;
    known.extend(met(state));
    known.truncate(CACHED);
    if known.is_empty() {
        return Err(Failure::usage("no peer of the overlay is known yet").next(
            "name one with --peer HOST:PORT, look in the local network with --lan, or start \
             `servent share DIR`, which remembers the peers it meets",
        ));
    }
    Ok(known)
}

/// True when others cannot connect to us, as the user has said or the servent that runs with our
/// state has found out.
async fn is_walled(config: &Config) -> bool {
    if config.settings.node.overlay.firewalled {
        return true;
    }
    let status = ControlClient::for_state(&config.settings.state).get("/status?count=0").await;
    status.is_ok_and(|status| status["servents"][0]["overlay"]["firewalled"] == true)
}

/// The address at which a servent listening there is reached from this machine.
pub(crate) fn from_here(at: SocketAddr) -> SocketAddr {
    match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, at.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, at.port()).into(),
        _ => at,
    }
}

async fn search(
    config: &Config,
    arguments: &SearchArgs,
    words: String,
    voice: Voice,
) -> Result<(), Failure> {
    let quiet = Duration::from_secs(arguments.wait);
    let (peers, lan, quiet) = (&arguments.peer, arguments.lan, (quiet, quiet));
    let asking = Asking { words, peers, lan, quiet, voice };
    let mut files = FoundFiles::default();
    let mut hits = NumberedHits::begin(&config.settings.state)?;
    let mut show = |hit: SearchHit, route: HitRoute| {
        match arguments.sort {
            Some(_) => files.add(&hit, &route),
            None => {
                let number = hits.add(&route.arguments(&hit))?;
                print(line(number, &hit, &route, voice))?;
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    let ended = ask(config, asking, &mut show).await?;
    if let Some(sort) = arguments.sort {
        print(files.lines(sort, voice, &mut hits)?)?;
    }
    match ended {
        SearchEnd::Quiet(SearchOutcome { hits: 0, .. }) => {
            Err(Failure::new(Exit::Failed, "nothing was found")
                .next("try other words, another --peer, or a longer --wait"))
        }
        _ => Ok(()),
    }
}

/// A search in the overlay.
pub(crate) struct Asking<'a> {
    pub(crate) words: String,
    /// Peers to connect to; none: known hosts.
    pub(crate) peers: &'a [String],
    /// Look for servents in the local network, too.
    pub(crate) lan: bool,
    /// How long to wait for the first hit, and then for each next one.
    pub(crate) quiet: (Duration, Duration),
    pub(crate) voice: Voice,
}

/// How a search ended.
pub(crate) enum SearchEnd {
    /// No new hits came.
    Quiet(SearchOutcome),
    /// The caller had enough.
    Enough,
    /// Stopped by a signal.
    Stopped,
}

/// Receives a hit, and how its servent is reached; returns whether more are wanted.
pub(crate) type Take<'a> =
    &'a mut dyn FnMut(SearchHit, HitRoute) -> Result<ControlFlow<()>, Failure>;

/// Searches the overlay with a temporary servent.
///
/// # Errors
/// No peer could be asked.
pub(crate) async fn ask(
    config: &Config,
    asking: Asking<'_>,
    take: Take<'_>,
) -> Result<SearchEnd, Failure> {
    let mut signals = Signals::new()?;
    let lan = asking.lan || config.settings.lan;
    let peers = peers_to_ask(config, asking.peers, lan).await?;
    let state = config.settings.state.join("search").join(std::process::id().to_string());
    make(&state)?;
    let mut node = config.settings.node.clone();
    node.overlay.enabled = true;
    // This node is short-lived, so others should not route through it.
    node.overlay.router.relay = false;
    let options = ServentOptions {
        name: "search".into(),
        listen: vec![SocketAddr::from(([0, 0, 0, 0], 0))],
        node,
        trace: config.settings.trace_file(),
        ..ServentOptions::under(&state)
    };
    let handle = Driver::start(options).await?;
    let lan = lan.then(|| Lan::start(&handle, &[])).transpose()?;
    let walled = is_walled(config).await;
    let ended = tokio::select! {
        ended = follow(&handle, asking, (&peers, walled), take) => ended,
        () = signals.first() => Ok(SearchEnd::Stopped),
        ended = handle.ended() => Err(ended.err().map_or_else(
            || Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
    };
    signals.end_at_next();
    drop(lan);
    let neighbours = handle.neighbourhood().await.ok().flatten();
    handle.stop().await?;
    let mut met: Vec<SocketAddr> = neighbours
        .map(|all| all.router.links.iter().map(|link| link.peer).collect())
        .unwrap_or_default();
    // Those that connected to us came from a port of their own.
    met.retain(|at| peers.contains(at));
    met.extend(known_hosts(&state, CACHED).unwrap_or_default());
    if let Err(error) = remember(&config.settings.state, &met) {
        tracing::warn!(%error, "the peers of this search are not remembered");
    }
    let _ = std::fs::remove_dir_all(&state); // Nothing is left to resume.
    match ended? {
        SearchEnd::Quiet(SearchOutcome { hits: 0, neighbours: 0, refusals }) => {
            Err(no_neighbour(&peers, &refusals))
        }
        ended => Ok(ended),
    }
}

/// The error when no peer answered or accepted us.
fn no_neighbour(peers: &[SocketAddr], refusals: &Refusals) -> Failure {
    if !refusals.is_empty() {
        let said =
            refusals.iter().map(|(at, (status, why))| format!("{at} said {status} {}", Shown(why)));
        let said: Vec<String> = said.collect();
        let what = format!("no peer accepts us as a neighbour: {}", said.join(", "));
        return Failure::new(Exit::Network, what).next("name another with --peer HOST:PORT");
    }
    let peers: Vec<String> = peers.iter().map(ToString::to_string).collect();
    let at = match &peers[..] {
        [] => "the local network".to_owned(),
        peers => peers.join(", "),
    };
    Failure::new(Exit::Network, format!("no servent answered at {at}, so none could be asked"))
        .next("check that one runs there, or name another with --peer HOST:PORT")
}

/// Peers that refused us, and the last status line of each.
type Refusals = BTreeMap<SocketAddr, (u16, String)>;

/// The outcome of a search.
pub(crate) struct SearchOutcome {
    /// Files found.
    hits: usize,
    /// Neighbours at its end.
    neighbours: usize,
    refusals: Refusals,
}

/// Passes hits on until no new ones come.
async fn follow(
    handle: &Handle,
    Asking { words, quiet, voice, .. }: Asking<'_>,
    (peers, walled): (&[SocketAddr], bool),
    take: Take<'_>,
) -> Result<SearchEnd, Failure> {
    let mut answers = handle.answers();
    for at in peers {
        handle.command(NodeCommand::Overlay(OverlayCommand::Join { at: *at })).await?;
    }
    handle.command(NodeCommand::Overlay(OverlayCommand::Search { search: SEARCH, words })).await?;
    let (mut seen, mut refusals) = (BTreeSet::new(), Refusals::new());
    let mut meetings = BTreeMap::new();
    let mut until = Instant::now() + quiet.0;
    let (mut tick, mut asked) = (tokio::time::interval(LOOK_EVERY), AskedPeers::default());
    loop {
        tokio::select! {
            _ = tick.tick() => {
                if asked.changes(handle).await? {
                    asked.since = Instant::now();
                }
                if asked.settled() {
                    until = until.min(Instant::now());
                }
            }
            answer = answers.recv() => match answer {
                Ok(NodeAnswer::Found(hit)) => {
                    if seen.insert((hit.servent, hit.index)) {
                        until = Instant::now() + quiet.1;
                        asked.since = Instant::now();
                        let peer = hit.through.or(peers.first().copied());
                        let meeting = meetings.get(&hit.servent).cloned();
                        if take(hit, HitRoute { peer, meeting, walled })?.is_break() {
                            return Ok(SearchEnd::Enough);
                        }
                    }
                }
                Ok(NodeAnswer::Meets { servent, at, code, .. }) => {
                    if let Some(link) = anywhere::link(at, &code)
                        && meetings.len() < MEETINGS
                    {
                        meetings.insert(servent, link);
                    }
                }
                Ok(NodeAnswer::Refused { at, status, reason }) => {
                    if refusals.insert(at, (status, reason.clone())).is_none() {
                        refused(at, status, &reason, voice);
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => {
                    return Err(Failure::new(Exit::Failed, "the servent ended"));
                }
            },
            () = tokio::time::sleep_until(until) => {
                let overlay = handle.neighbourhood().await?;
                let neighbours = overlay.map_or(0, |overlay| overlay.router.links.len());
                return Ok(SearchEnd::Quiet(SearchOutcome { hits: seen.len(), neighbours, refusals }));
            }
        }
    }
}

/// Whether every peer was asked, as far as it can be seen.
struct AskedPeers {
    /// Neighbours, and connections on which a handshake is under way.
    neighbours: usize,
    pending: usize,
    /// When that changed last, or a hit came.
    since: Instant,
}

impl Default for AskedPeers {
    fn default() -> Self {
        Self { neighbours: 0, pending: 0, since: Instant::now() }
    }
}

impl AskedPeers {
    /// Looks again; true when something is different.
    async fn changes(&mut self, handle: &Handle) -> Result<bool, Failure> {
        let overlay = handle.neighbourhood().await?;
        let neighbours = overlay.map_or(0, |overlay| overlay.router.links.len());
        let connections = handle.view(1, 0).await?.connections as usize;
        let pending = connections.saturating_sub(neighbours);
        let same = (self.neighbours, self.pending) == (neighbours, pending);
        (self.neighbours, self.pending) = (neighbours, pending);
        Ok(!same)
    }

    /// There are neighbours, none is still to come, and nothing has come from them for
    /// a while.
    fn settled(&self) -> bool {
        self.neighbours > 0 && self.pending == 0 && self.since.elapsed() >= SETTLED
    }
}

/// Reports a peer that refused us; printed apart from the hits.
fn refused(at: SocketAddr, status: u16, reason: &str, voice: Voice) {
    voice.note(
        &json!({ "event": "refused", "at": at, "status": status, "reason": reason }),
        &format!("{at} does not accept us as a neighbour: {status} {}", Shown(reason)),
    );
}

/// The argument of `servent get` for a hit.
pub(crate) fn locator(hit: &SearchHit, peer: Option<SocketAddr>) -> String {
    match peer.filter(|_| hit.push) {
        Some(peer) => {
            let target = by_number(hit);
            let file = target.strip_prefix("/get").unwrap_or(&target);
            let proxies = hit.proxies.iter().map(|proxy| format!(",{proxy}"));
            format!("push://{}@{peer}{}{file}", hit.servent, proxies.collect::<String>())
        }
        None => format!("http://{}{}", hit.at, target(hit)),
    }
}

/// The path of a hit's file. By the hash first: some servents understand nothing else
/// (RT-16).
fn target(hit: &SearchHit) -> String {
    match hit.sha1 {
        Some(sha1) => format!("{}#{}", Target::Urn(sha1), by_number(hit)),
        None => by_number(hit),
    }
}

fn by_number(hit: &SearchHit) -> String {
    Target::File { index: hit.index, name: hit.name.clone() }.to_string()
}

fn line(number: usize, hit: &SearchHit, route: &HitRoute, voice: Voice) -> String {
    let (url, sha1) = (locator(hit, route.peer), hit.sha1.map(|sha1| format!("urn:sha1:{sha1}")));
    if voice == Voice::Json {
        let json = json!({
            "event": "hit", "number": number, "name": hit.name, "bytes": hit.size, "sha1": sha1, "at": hit.at,
            "servent": hit.servent, "index": hit.index, "push": hit.push, "busy": hit.busy,
            "hops": hit.hops, "proxies": hit.proxies, "get": url, "meet": route.link(hit),
            "reach": route.reach(hit),
        });
        return format!("{json}\n");
    }
    // The push locator does not contain the hash.
    let sha1 = sha1.filter(|_| hit.push).map_or_else(String::new, |sha1| format!(" {sha1}"));
    let (size, name, note) = (bytes(hit.size), Shown(&hit.name), route.note(hit));
    format!("{number:>3}  {size:>10}  {name}{note}  {url}{sha1}\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use servent_core::id::{FileIndex, Guid, Sha1};

    /// A hit of a servent there.
    pub(crate) fn hit(at: &str, push: bool) -> SearchHit {
        SearchHit {
            search: 1,
            at: at.parse().unwrap(),
            index: FileIndex(7),
            name: "a".into(),
            size: 10,
            sha1: None,
            servent: Guid([1; 16]),
            push,
            busy: false,
            hops: 2,
            from: [80, 9, 9, 9].into(),
            through: None,
            proxies: Vec::new(),
        }
    }

    #[test]
    fn a_hit_says_how_it_is_got() {
        let mut hit = SearchHit { name: "a b.txt".into(), ..hit("1.2.3.4:5", false) };
        let peer = Some("9.9.9.9:9".parse().unwrap());
        assert_eq!(locator(&hit, peer), "http://1.2.3.4:5/get/7/a%20b.txt");
        hit.sha1 = Some(Sha1([0; 20]));
        let both = "http://1.2.3.4:5/uri-res/N2R?urn:sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
                    #/get/7/a%20b.txt";
        assert_eq!(locator(&hit, peer), both);
        hit.push = true;
        let push = "push://01010101010101010101010101010101@9.9.9.9:9/7/a%20b.txt";
        assert_eq!(locator(&hit, peer), push);
        hit.proxies = ["1.1.1.1:1".parse().unwrap(), "2.2.2.2:2".parse().unwrap()].into();
        let push = push.replace("/7/", ",1.1.1.1:1,2.2.2.2:2/7/");
        assert_eq!(locator(&hit, peer), push);
        let mut route = HitRoute { peer, ..HitRoute::default() };
        assert_eq!(route.arguments(&hit), push);
        route.meeting = Some("meet://a-b@3.3.3.3:3".into());
        let sha1 = "urn:sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let link = format!("meet://a-b@3.3.3.3:3/uri-res/N2R?{sha1}#/get/7/a%20b.txt");
        assert_eq!(route.arguments(&hit), format!("{push} {sha1} {link}"));
        hit.push = false;
        assert_eq!(route.arguments(&hit), both, "it can be reached");
    }
}
