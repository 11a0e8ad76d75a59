//! The arguments of `servent get`: URLs, magnet links, a URN with places to
//! ask. Each names a file of its own, unless equal hashes say otherwise.

use std::net::SocketAddr;

use fluent_uri::{Uri, UriRef};
use percent_encoding::percent_decode_str;
use servent::driver::{address_of, has_port};
use servent::{Proxies, ProxyError};
use servent_core::id::{FileIndex, Guid, Sha1};
use servent_core::node::DownloadSource;
use servent_core::wire::http::Target;

use super::lists::links::Base;
use super::sha256::Sha256Sum;
use crate::cli::finding::dial::check_port;
use crate::exit::{Exit, Failure, error_text};

/// The most push proxies of one servent.
const PROXIES: usize = 8;
/// The most servents that are asked to connect to us for one file.
const PUSHES: usize = 4;
/// Prefix of targets to be fetched over TLS: these are the whole URL.
const SECURE: &str = "https://";

/// A place to ask, its host not yet resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceAddress {
    /// Host and port as in a `Host` header.
    pub(crate) host: String,
    /// The request target; `None`: ask by the file's URN.
    pub(crate) target: Option<String>,
}

/// A file that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestedFile {
    pub(crate) sha1: Option<Sha1>,
    /// The last component of a URL, or the name in a magnet link.
    pub(crate) name: Option<String>,
    pub(crate) places: Vec<SourceAddress>,
    /// A servent behind a firewall, to be asked to connect.
    pub(crate) push: Option<PushFrom>,
    /// Further ones, each to be asked when the one before does not come.
    pub(crate) more_pushes: Vec<PushFrom>,
    /// It is a folder with everything below it.
    pub(super) folder: Option<Base>,
    /// Its SHA-256, if that was named.
    pub(super) sha256: Option<Sha256Sum>,
}

/// A servent behind a firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PushFrom {
    pub(crate) servent: Guid,
    /// The file's number there.
    pub(crate) index: FileIndex,
    /// A neighbour that knows the route, as HOST:PORT.
    pub(crate) peer: String,
    /// Its push proxies, as HOST:PORT.
    pub(crate) proxies: Vec<String>,
}

impl RequestedFile {
    /// Reads the arguments of one `get`. Each is a download of its own, except
    /// that: a `urn:sha1:` and the `HOST:PORT`s after it are one; a `urn:sha1:`
    /// after an address is the expected hash of that file; and arguments with
    /// the same hash are the same file. `mirrors` are further sources of the
    /// only one.
    pub(crate) fn parse(arguments: &[String], mirrors: &[String]) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        for argument in arguments {
            let one = Self::read(argument)?;
            match all.iter_mut().find(|other| one.sha1.is_some() && other.sha1 == one.sha1) {
                Some(same) => same.join(one, argument)?,
                None => match all.last_mut().filter(|last| last.goes_on_with(&one)) {
                    Some(last) => last.join(one, argument)?,
                    None => all.push(one),
                },
            }
        }
        all.iter().try_for_each(Self::check)?;
        match (&mut all[..], mirrors) {
            (_, []) => {}
            ([only], mirrors) => only.mirrored(mirrors)?,
            _ => {
                return Err(Failure::usage("--mirror is for one download, and several are named")
                    .next("run one command for each file"));
            }
        }
        Ok(all)
    }

    /// Reads one argument.
    fn read(argument: &str) -> Result<Self, Failure> {
        let mut one = Self::default();
        one.add(argument).map_err(|what| {
            Failure::usage(format!("{argument}: {what}"))
                .next("`servent get --help` shows what it takes")
        })?;
        Ok(one)
    }

    /// True when `next`, the argument after this one, is about the same file.
    fn goes_on_with(&self, next: &Self) -> bool {
        let only_a_host = next.sha1.is_none() && next.places.iter().any(|p| p.target.is_none());
        let only_a_hash = next.places.is_empty() && next.push.is_none();
        match self.sha1 {
            Some(_) => only_a_host || (self.needs_a_source() && next.sha1.is_none()),
            None => only_a_hash,
        }
    }

    /// Merges what another argument says about the same file.
    fn join(&mut self, other: Self, argument: &str) -> Result<(), Failure> {
        if let Some(sha1) = other.sha1 {
            self.is(sha1).map_err(|what| Failure::usage(format!("{argument}: {what}")))?;
        }
        if self.folder.is_some() || other.folder.is_some() {
            return Err(Failure::usage(format!("{argument}: a folder has one source and no hash")));
        }
        self.name = self.name.take().or(other.name);
        for push in other.push.into_iter().chain(other.more_pushes) {
            let known = self.pushes().any(|it| it.servent == push.servent);
            match &self.push {
                None => self.push = Some(push),
                Some(_) if known || self.more_pushes.len() + 1 >= PUSHES => {}
                Some(_) => self.more_pushes.push(push),
            }
        }
        self.places.extend(other.places);
        Ok(())
    }

    /// Adds further sources: the user says that they have the same file.
    fn mirrored(&mut self, mirrors: &[String]) -> Result<(), Failure> {
        for mirror in mirrors {
            let source = Self::read(mirror)?;
            if source.needs_a_source() {
                return Err(Failure::usage(format!("--mirror {mirror} names no server to ask")));
            }
            self.join(source, mirror)?;
        }
        Ok(())
    }

    /// True for a folder with everything below it.
    pub(crate) const fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// The folder, when its only source redirects us to `to` and that is the
    /// same path with a slash appended, as web servers do.
    pub(super) fn sent_to_folder(&self, to: &str) -> Option<(Base, SourceAddress)> {
        let [SourceAddress { host, target: Some(target) }] = &self.places[..] else { return None };
        let origin = format!("{SECURE}{}", without_zone(host));
        let (scheme, path) = match target.strip_prefix(&origin) {
            Some(path) => ("https", path),
            None => ("http", &target[..]),
        };
        let here = Uri::parse(format!("{scheme}://{}{path}", without_zone(host))).ok()?;
        let there = UriRef::parse(to.trim()).ok()?.resolve_against(&here).ok()?;
        let same = there.as_str().strip_suffix('/') == Some(here.as_str());
        if !same || self.sha1.is_some() || path.contains(['?', '#']) {
            return None;
        }
        let base = Base { scheme: scheme.into(), host: host.clone(), path: format!("{path}/") };
        let place = SourceAddress { host: host.clone(), target: Some(base.target()) };
        Some((base, place))
    }

    /// An error that says what is missing, if anything.
    fn check(&self) -> Result<(), Failure> {
        if self.sha1.is_none() && self.places.iter().any(|p| p.target.is_none()) {
            return Err(Failure::usage("HOST:PORT alone does not say which file")
                .next("put urn:sha1:… before it, or give the whole URL"));
        }
        Ok(())
    }

    /// True when no source is named.
    pub(super) fn needs_a_source(&self) -> bool {
        self.places.is_empty() && self.push.is_none()
    }

    /// The servents that are to be asked to connect, one after the other.
    pub(super) fn pushes(&self) -> impl Iterator<Item = &PushFrom> {
        self.push.iter().chain(&self.more_pushes)
    }

    /// Adds a source, as `servent search` prints it.
    pub(super) fn add_source(&mut self, url: &str) -> Result<(), Failure> {
        let source = Self::read(url)?;
        self.join(source, url)
    }

    /// The file name to save under, never a path.
    pub(crate) fn file_name(&self) -> String {
        let named = self.name.as_deref().map(|n| n.rsplit(['/', '\\']).next().unwrap_or(n));
        match named {
            Some(name) if !matches!(name, "" | "." | "..") => name.replace(char::is_control, "_"),
            _ => self.sha1.map_or_else(|| "download".to_owned(), |sha1| sha1.to_string()),
        }
    }

    fn add(&mut self, argument: &str) -> Result<(), String> {
        let lower = argument.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with(SECURE) {
            self.url(argument)
        } else if lower.starts_with("push://") {
            self.push(&argument["push://".len()..])
                .ok_or_else(|| "not push://SERVENT@HOST:PORT[,PROXY:PORT…]/INDEX/NAME".to_owned())
        } else if lower.starts_with("magnet:?") {
            self.magnet(&argument["magnet:?".len()..])
        } else if lower.starts_with("urn:") {
            let sha1 = Sha1::parse_urn(argument.as_bytes())
                .ok_or("only urn:sha1: with 32 base-32 digits is known")?;
            self.is(sha1)
        } else if is_host_and_port(argument) {
            self.places.push(SourceAddress { host: argument.to_owned(), target: None });
            Ok(())
        } else {
            Err("neither an http:// or https:// URL, a magnet: link, urn:sha1: nor HOST:PORT"
                .to_owned())
        }
    }

    fn url(&mut self, url: &str) -> Result<(), String> {
        let secure = url.get(..SECURE.len()).is_some_and(|s| s.eq_ignore_ascii_case(SECURE));
        let rest = &url[if secure { SECURE.len() } else { "http://".len() }..];
        // An https:// target is the whole URL.
        let origin = |host: &str| {
            if secure { format!("{SECURE}{}", without_zone(host)) } else { String::new() }
        };
        let (host, target) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (target, otherwise) = target.split_once('#').unwrap_or((target, ""));
        if host.contains('@') {
            return Err("a name and a password belong into --user and SERVENT_PASSWORD".to_owned());
        }
        if host.is_empty() {
            return Err("no host to ask".to_owned());
        }
        if target.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err("blanks in a URL are written %20".to_owned());
        }
        if let Some(folder) = folder_of(target) {
            let (scheme, host) =
                (if secure { "https" } else { "http" }.to_owned(), host.to_owned());
            let last =
                folder.trim_end_matches('/').rsplit('/').next().filter(|last| !last.is_empty());
            self.name = last.map(|last| percent_decode_str(last).decode_utf8_lossy().into_owned());
            self.places.push(SourceAddress {
                host: host.clone(),
                target: Some(format!("{}{folder}", origin(&host))),
            });
            self.folder = Some(Base { scheme, host, path: folder.to_owned() });
            return Ok(());
        }
        let second = match Target::parse(otherwise) {
            Target::File { name, .. } => {
                self.name.get_or_insert(name);
                Some(otherwise.to_owned())
            }
            _ => None,
        };
        let small = target.to_ascii_lowercase();
        let urn = ["urn:sha1:", "urn:bitprint:"].iter().find_map(|urn| small.find(urn));
        let urn = urn.map(|at| &target[at..]);
        if let Some(urn) = urn {
            let sha1 = Sha1::parse_urn(urn.as_bytes()).ok_or("its urn is malformed")?;
            self.is(sha1)?;
        } else if self.name.is_none() {
            let path = target.split('?').next().unwrap_or(target);
            let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let name = percent_decode_str(last).decode_utf8_lossy();
            self.name = Some(match (is_archive(target), &*name) {
                (true, "") => "shared.tar".to_owned(),
                (true, name) => format!("{name}.tar"),
                (false, name) => name.to_owned(),
            });
        }
        let target = match second {
            Some(second) => format!("{target}#{second}"),
            None => format!("{}{target}", origin(host)),
        };
        self.places.push(SourceAddress { host: host.to_owned(), target: Some(target) });
        Ok(())
    }

    /// Reads what `servent search` prints for a servent behind a firewall.
    fn push(&mut self, rest: &str) -> Option<()> {
        let (servent, rest) = rest.split_once('@')?;
        let (peer, rest) = rest.split_once('/')?;
        let (index, name) = rest.split_once('/')?;
        let servent = Guid::parse(servent.as_bytes())?;
        let index = FileIndex(index.parse().ok()?);
        let mut places = peer.split(',').map(str::to_owned);
        let (peer, proxies) = (places.next()?, places.collect::<Vec<_>>());
        if proxies.len() > PROXIES
            || ![&peer].into_iter().chain(&proxies).all(|at| is_host_and_port(at))
        {
            return None;
        }
        if self.name.is_none() {
            self.name = Some(percent_decode_str(name).decode_utf8_lossy().into_owned());
        }
        self.push = Some(PushFrom { servent, index, peer, proxies });
        Some(())
    }

    fn magnet(&mut self, query: &str) -> Result<(), String> {
        let mut foreign = None;
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match key.split('.').next().unwrap_or(key) {
                "xt" => {
                    if let Some(sha1) = Sha1::parse_urn(value.as_bytes()) {
                        self.is(sha1)?;
                    } else if self.sha1.is_none() {
                        foreign = Some(value);
                    }
                }
                "dn" => self.name = Some(value.replace('+', " ")),
                "xs" | "as" if is_url(&value) => {
                    self.url(&value.replace(' ', "%20"))?;
                }
                _ => {}
            }
        }
        let nothing = self.sha1.is_none() && self.places.is_empty();
        match foreign.filter(|_| nothing) {
            Some(urn) if urn.to_ascii_lowercase().starts_with("urn:bt") => {
                Err("this magnet link names a torrent, and no servent speaks BitTorrent".into())
            }
            Some(urn) => Err(format!(
                "this magnet link names its file by {urn} alone, and only urn:sha1: is known"
            )),
            None => Ok(()),
        }
    }

    fn is(&mut self, sha1: Sha1) -> Result<(), String> {
        match self.sha1.replace(sha1) {
            Some(other) if other != sha1 => {
                Err(format!("urn:sha1:{sha1} is another file than urn:sha1:{other}"))
            }
            _ => Ok(()),
        }
    }
}

impl SourceAddress {
    /// Resolves the host, or its proxy. `HOST:PORT` alone is a servent, which is
    /// asked directly.
    pub(crate) async fn resolve(
        &self,
        sha1: Option<Sha1>,
        proxies: &Proxies,
    ) -> Result<DownloadSource, Failure> {
        check_port(&self.host)?;
        if self.target.is_some() {
            let found = proxies.find(&self.host, self.is_secure()).await;
            let found = found.map_err(|why| {
                let exit = match why {
                    ProxyError::Kind { .. } => Exit::Usage,
                    _ => Exit::Network,
                };
                Failure::new(exit, why.to_string())
                    .next("correct the variable, or name the host in no_proxy")
            })?;
            if let Some(at) = found {
                return Ok(self.behind(at, sha1));
            }
        }
        let found = address_of(&self.host, if self.is_secure() { 443 } else { 80 }).await;
        let at = found.map_err(|e| {
            let what = format!("cannot find {}: {}", self.host, error_text(&e));
            Failure::new(Exit::Network, what).next("check the name and the network")
        })?;
        Ok(self.source(at, sha1))
    }

    /// The same when the host's address is known.
    pub(super) fn source(&self, at: SocketAddr, sha1: Option<Sha1>) -> DownloadSource {
        DownloadSource { at, target: self.asked(sha1), host: without_zone(&self.host) }
    }

    /// The same where another source on this host was found.
    pub(super) fn at_same(&self, other: &DownloadSource, sha1: Option<Sha1>) -> DownloadSource {
        match other.target.starts_with("http://") && self.target.is_some() {
            true => self.behind(other.at, sha1),
            false => self.source(other.at, sha1),
        }
    }

    /// The same behind a proxy: its target is the whole URL.
    fn behind(&self, at: SocketAddr, sha1: Option<Sha1>) -> DownloadSource {
        let source = self.source(at, sha1);
        let target = match source.target.starts_with('/') {
            true => format!("http://{}{}", source.host, source.target),
            false => source.target,
        };
        DownloadSource { target, ..source }
    }

    /// True for what is to be fetched over TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.starts_with(SECURE))
    }
}

impl SourceAddress {
    /// The request target: by hash if it is known and the target is one of a
    /// servent's (RT-16).
    fn asked(&self, sha1: Option<Sha1>) -> String {
        let by_urn = sha1.map(|sha1| Target::Urn(sha1).to_string());
        match (&self.target, by_urn) {
            (Some(target), Some(urn)) if matches!(Target::parse(target), Target::File { .. }) => {
                format!("{urn}#{target}")
            }
            (Some(target), _) => target.clone(),
            (None, urn) => urn.unwrap_or_default(),
        }
    }
}

fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with(SECURE)
}

/// True when a folder of a servent is asked for as one file.
fn is_archive(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    path.ends_with('/') && query.split('&').next() == Some("tar")
}

/// The path of a folder; it ends in `/`.
fn folder_of(target: &str) -> Option<&str> {
    if is_archive(target) {
        return None;
    }
    let path = target.split('?').next().unwrap_or(target);
    let folder = matches!(Target::parse(path), Target::Root { .. } | Target::Path { .. });
    Some(path).filter(|path| folder && path.ends_with('/'))
}

/// A host as it goes into a request: which interface leads to it is of interest to
/// this machine alone (RFC 6874 §4).
fn without_zone(host: &str) -> String {
    match (host.split_once('%'), host.rsplit_once(']')) {
        (Some((address, _)), Some((_, port))) => format!("{address}]{port}"),
        _ => host.to_owned(),
    }
}

fn is_host_and_port(text: &str) -> bool {
    has_port(text) && !text.contains('/') && !text.starts_with(':')
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
