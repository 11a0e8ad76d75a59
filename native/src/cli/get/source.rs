//! The arguments of `servent get`: URLs, magnet links, a URN with places to
//! ask. Each names a file of its own, unless equal hashes say otherwise.

use percent_encoding::percent_decode_str;
use servent::driver::{address_of, has_port};
use servent_core::id::{FileIndex, Guid, Sha1};
use servent_core::node::Source;
use servent_core::wire::http::Target;

use super::links::Base;
use crate::exit::{Exit, Failure, said};

/// The most push proxies of one servent.
const PROXIES: usize = 8;
/// Prefix of targets to be fetched over TLS: these are the whole URL.
const SECURE: &str = "https://";

/// A place to ask, its host not yet resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Host and port as in a `Host` header.
    pub(crate) host: String,
    /// The request target; `None`: ask by the file's URN.
    pub(crate) target: Option<String>,
}

/// A file that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) sha1: Option<Sha1>,
    /// The last component of a URL, or the name in a magnet link.
    pub(crate) name: Option<String>,
    pub(crate) places: Vec<Place>,
    /// A servent behind a firewall, to be asked to connect.
    pub(crate) push: Option<PushFrom>,
    /// It is a folder with everything below it.
    pub(super) folder: Option<Base>,
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

impl Wanted {
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
        self.push = self.push.take().or(other.push);
        self.places.extend(other.places);
        Ok(())
    }

    /// Adds further sources: the user says that they have the same file.
    fn mirrored(&mut self, mirrors: &[String]) -> Result<(), Failure> {
        for mirror in mirrors {
            let source = Self::read(mirror)?;
            if source.needs_a_source() {
                return Err(Failure::usage(format!("--mirror {mirror} names nobody to ask")));
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
    pub(super) fn sent_to_folder(&self, to: &str) -> Option<(Base, Place)> {
        let [Place { host, target: Some(target) }] = &self.places[..] else { return None };
        let origin = format!("{SECURE}{host}");
        let (scheme, path) = match target.strip_prefix(&origin) {
            Some(path) => ("https", path),
            None => ("http", &target[..]),
        };
        let bare = to.strip_suffix('/')?;
        let same = bare == path || bare == format!("{scheme}://{host}{path}");
        if !same || self.sha1.is_some() || path.contains(['?', '#']) {
            return None;
        }
        let base = Base { scheme: scheme.into(), host: host.clone(), path: format!("{path}/") };
        let place = Place { host: host.clone(), target: Some(base.target()) };
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
            self.places.push(Place { host: argument.to_owned(), target: None });
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
        let origin = |host: &str| if secure { format!("{SECURE}{host}") } else { String::new() };
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
            self.places.push(Place {
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
        self.places.push(Place { host: host.to_owned(), target: Some(target) });
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

impl Place {
    /// Resolves the host.
    pub(crate) async fn resolve(&self, sha1: Option<Sha1>) -> Result<Source, Failure> {
        let secure = self.target.as_ref().is_some_and(|target| target.starts_with(SECURE));
        let found = address_of(&self.host, if secure { 443 } else { 80 }).await;
        let at = found.map_err(|e| {
            let what = format!("cannot find {}: {}", self.host, said(&e));
            Failure::new(Exit::Network, what).next("check the name and the network")
        })?;
        Ok(Source { at, target: self.asked(sha1), host: self.host.clone() })
    }
}

impl Place {
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

fn is_host_and_port(text: &str) -> bool {
    has_port(text) && !text.contains('/') && !text.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    const URN: &str = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";

    fn all(arguments: &[&str], mirrors: &[&str]) -> Result<Vec<Wanted>, Failure> {
        let owned = |list: &[&str]| list.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
        Wanted::parse(&owned(arguments), &owned(mirrors))
    }

    fn parse(arguments: &[&str]) -> Result<Wanted, Failure> {
        let mut all = all(arguments, &[])?;
        assert_eq!(all.len(), 1, "{arguments:?}");
        Ok(all.remove(0))
    }

    #[test]
    fn a_folder_without_its_slash_is_known_by_where_it_sends_us() {
        let folder = |url: &str, to: &str| {
            let one = parse(&[url]).unwrap();
            one.sent_to_folder(to).map(|(base, place)| (base.path, place.target.unwrap()))
        };
        let plain = Some(("/a/m/".to_owned(), "/a/m/".to_owned()));
        assert_eq!(folder("http://h:1/a/m", "/a/m/"), plain);
        assert_eq!(folder("http://h:1/a/m", "http://h:1/a/m/"), plain);
        let secure = Some(("/m/".to_owned(), "https://h/m/".to_owned()));
        assert_eq!(folder("https://h/m", "https://h/m/"), secure);
        for (url, to) in [
            ("http://h/m", "/m"),
            ("http://h/m", "/other/"),
            ("http://h/m", "http://g/m/"),
            ("https://h/m", "http://h/m/"),
            ("http://h/m?x", "/m?x/"),
        ] {
            assert_eq!(folder(url, to), None, "{url} {to}");
        }
    }

    #[test]
    fn a_folder_as_one_file_is_no_folder() {
        for (url, name) in
            [("http://h/my%20music/?tar", "my music.tar"), ("https://h/?tar", "shared.tar")]
        {
            let one = parse(&[url]).unwrap();
            assert_eq!((one.file_name(), one.is_folder()), (name.to_owned(), false));
        }
        assert!(parse(&["http://h/m/?tare"]).unwrap().is_folder());
    }

    #[test]
    fn every_address_is_a_download_of_its_own() {
        let two = all(&["http://h/get/1/a", "http://h/get/2/b"], &[]).unwrap();
        let names: Vec<_> = two.iter().map(|w| (w.file_name(), w.places.len())).collect();
        assert_eq!(names, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        // A hash in front of the second address belongs to the second.
        let two = all(&["http://h/get/1/a", URN, "g:6346"], &[]).unwrap();
        assert_eq!(two.len(), 1, "a hash behind an address is about that address");
        let two = all(&[URN, "g:6346", "h:6346", "http://h/get/1/a"], &[]).unwrap();
        assert_eq!((two.len(), two[0].places.len(), two[1].sha1), (2, 2, None));
    }

    #[test]
    fn the_same_hash_is_the_same_file() {
        let by_hash = format!("http://h:1/uri-res/N2R?{URN}");
        let other = format!("http://g:1/uri-res/N2R?{URN}");
        let one = all(&[&by_hash, "http://h/get/1/a", &other], &[]).unwrap();
        assert_eq!((one.len(), one[0].places.len(), one[1].places.len()), (2, 2, 1));
        let tree = "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ";
        let bitprint = format!("{}.{tree}", by_hash.replace("sha1", "bitprint"));
        let one = all(&[&by_hash, &bitprint], &[]).unwrap();
        assert_eq!((one.len(), one[0].places.len()), (1, 2));
    }

    #[test]
    fn mirrors_are_sources_of_the_only_file() {
        let mirror = ["http://g/get/5/a"];
        let one = all(&["http://h/get/1/a", URN], &mirror).unwrap();
        assert_eq!((one.len(), one[0].places.len()), (1, 2));
        let two = all(&[URN, "h:1", "http://h/get/2/b"], &mirror).unwrap_err();
        assert_eq!(two.exit, Exit::Usage, "{two}");
        assert!(all(&[URN, "h:1"], &["file.iso"]).is_err());
    }

    #[test]
    fn a_plain_url_gives_place_and_name() {
        let w = parse(&["http://127.0.0.1:6346/get/3/a%20b.iso"]).unwrap();
        assert_eq!(w.file_name(), "a b.iso");
        assert_eq!(w.places[0].host, "127.0.0.1:6346");
        assert_eq!(w.places[0].target.as_deref(), Some("/get/3/a%20b.iso"));
        assert_eq!(w.sha1, None);
    }

    #[test]
    fn rt_16_a_file_of_a_servent_is_asked_for_by_its_hash_first() {
        let (hash, number) = (format!("/uri-res/N2R?{URN}"), "/get/7/a%20b.txt");
        let both = format!("{hash}#{number}");
        // As `servent search` prints it.
        let printed = parse(&[&format!("http://9.9.9.9:9{both}")]).unwrap();
        assert_eq!(printed.places[0].asked(printed.sha1), both);
        assert_eq!((printed.file_name().as_str(), printed.sha1.is_some()), ("a b.txt", true));
        let told = parse(&[&format!("http://9.9.9.9:9{number}"), URN]).unwrap();
        assert_eq!(told.places[0].asked(told.sha1), both);
        let unknown = parse(&[&format!("http://9.9.9.9:9{number}#top")]).unwrap();
        assert_eq!(unknown.places[0].asked(unknown.sha1), number);
        let web = parse(&["http://mirror/pub/a.iso", URN]).unwrap();
        assert_eq!(web.places[0].asked(web.sha1), "/pub/a.iso", "no servent");
    }

    #[test]
    fn a_hit_of_somebody_who_cannot_be_reached_is_understood() {
        let id = "01".repeat(16);
        let w = parse(&[&format!("push://{id}@9.9.9.9:9/7/a%20b%2Etxt"), URN]).unwrap();
        let push = w.push.clone().unwrap();
        assert_eq!((push.index, push.peer.as_str()), (FileIndex(7), "9.9.9.9:9"));
        assert_eq!((w.file_name().as_str(), w.places.len()), ("a b.txt", 0));
        assert_eq!(push.proxies, [""; 0]);
        let w = parse(&[&format!("push://{id}@9.9.9.9:9,h:1,[::1]:2/7/a"), URN]).unwrap();
        let push = w.push.unwrap();
        assert_eq!(
            (push.peer.as_str(), push.proxies),
            ("9.9.9.9:9", vec!["h:1".to_owned(), "[::1]:2".to_owned()])
        );
        let many = format!("push://{id}@h:1{}/7/a", ",h:1".repeat(9));
        let one_bad = format!("push://{id}@h:1,h/7/a");
        for bad in
            ["push://x@h:1/1/n", "push://h:1/1/n", &format!("push://{id}@h/1/n"), &many, &one_bad]
        {
            assert!(parse(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_urn_and_an_address_go_together() {
        assert!(parse(&[URN]).unwrap().needs_a_source());
        let w = parse(&[URN, "[::1]:6346"]).unwrap();
        assert_eq!((w.places.len(), w.sha1.is_some()), (1, true));
        assert!(parse(&["host:6346"]).is_err());
    }

    #[test]
    fn a_magnet_link_names_file_and_sources() {
        let magnet = format!(
            "magnet:?xt={URN}&dn=my+file.iso&xs=http%3A%2F%2F10.0.0.1%3A6346%2Furi-res%2FN2R%3F{URN}&as=http://h/get/1/x"
        );
        let w = parse(&[&magnet]).unwrap();
        assert_eq!(w.places.len(), 2);
        assert_eq!(w.sha1, Sha1::parse_urn(URN.as_bytes()));
        assert_eq!(w.places[0].host, "10.0.0.1:6346");
        assert_eq!(w.file_name(), "my file.iso");
    }

    #[test]
    fn a_magnet_link_of_another_network_is_told_as_such() {
        let torrent = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=a";
        let told = parse(&[torrent]).unwrap_err();
        assert!(told.what.contains("names a torrent"), "{told}");
        let told = parse(&["magnet:?xt=urn:ed2k:354B15E68FB8F36D7CD88FF94116CDC1"]).unwrap_err();
        assert!(told.what.contains("by urn:ed2k:"), "{told}");
        // With a place to ask it is as good as a URL.
        assert!(parse(&[&format!("{torrent}&as=http://h/a")]).is_ok());
    }

    #[test]
    fn sources_of_different_files_are_refused() {
        let other = "http://h:1/uri-res/N2R?urn:sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let magnet = format!("magnet:?xt={URN}&xs={other}");
        assert!(parse(&[&magnet]).unwrap_err().what.contains("another file"));
        let mirrored = all(&[URN, "h:1"], &[other]).unwrap_err();
        assert!(mirrored.what.contains("another file"), "{mirrored}");
    }

    #[test]
    fn what_is_private_is_asked_for_with_its_whole_url() {
        let one = parse(&["https://h/a%20b?c#top"]).unwrap();
        assert_eq!(one.places[0].asked(None), "https://h/a%20b?c");
        assert_eq!((&one.places[0].host[..], &one.file_name()[..]), ("h", "a b"));
        let folder = parse(&["HTTPS://h:1/m/"]).unwrap();
        assert_eq!(folder.places[0].asked(None), "https://h:1/m/");
        assert_eq!(folder.folder.unwrap().scheme, "https");
    }

    #[test]
    fn an_address_that_ends_in_a_slash_is_a_folder() {
        for (url, path, name) in [
            ("http://h:1/a/my%20music/", "/a/my%20music/", Some("my music")),
            ("http://h:1/", "/", None),
            ("http://h:1", "/", None),
            ("http://h:1/a/?sort=size", "/a/", Some("a")),
        ] {
            let one = parse(&[url]).unwrap();
            let base = one.folder.as_ref().unwrap();
            assert_eq!((&base.path[..], one.name.as_deref()), (path, name), "{url}");
        }
        assert_eq!(parse(&["http://h/get/1/a/"]).unwrap().folder, None, "that is a file");
        assert!(parse(&["http://h/a/", URN]).is_err());
    }

    #[test]
    fn a_name_is_never_a_path() {
        for (url, name) in [
            ("http://h/get/1/..%2F..%2Fetc%2Fpasswd", "passwd"),
            ("http://h/get/1/%2e%2e", "download"),
            ("http://h/get/1/a%5Cb", "b"),
            ("http://h/get/1/a%0Ab", "a_b"),
        ] {
            assert_eq!(parse(&[url]).unwrap().file_name(), name, "{url}");
        }
    }

    #[test]
    fn nonsense_is_refused_in_one_sentence() {
        for bad in ["ftp://h/x", "https:///x", "http:///x", "urn:md5:x", "file.iso", ":80"] {
            assert_eq!(parse(&[bad]).unwrap_err().exit, Exit::Usage, "{bad}");
        }
    }
}
