//! Other names for words, people and addresses: each always the same one, of the
//! same length, so that what a servent says under other names has its old length.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::{Map, Value};
use servent_core::node::Input;
use servent_core::rng::Rng;
use servent_core::trace::tape::Start;
use servent_core::wire::http::Target;

/// Words that say of what kind a file is, and not which one.
const KINDS: [&str; 32] = [
    "7z", "avi", "bin", "csv", "doc", "docx", "epub", "flac", "gif", "gz", "html", "iso", "jpeg",
    "jpg", "m4a", "md", "mkv", "mp3", "mp4", "odt", "ogg", "opus", "pdf", "png", "svg", "tar",
    "txt", "wav", "webm", "webp", "xlsx", "zip",
];
/// What stands before the name of a person in what a page calls itself.
const PERSON: &str = " (tab) ";
/// Draws until another name is made longer: all short ones are taken.
const DRAWS: u32 = 200;

/// What has been given another name so far.
#[derive(Debug)]
pub(super) struct Names {
    dice: Rng,
    words: BTreeMap<String, String>,
    given: BTreeSet<String>,
    hosts: BTreeMap<IpAddr, IpAddr>,
    taken: BTreeSet<IpAddr>,
    /// Hides the keys of files, which are made from their names.
    salt: u64,
}

impl Names {
    pub(super) fn new(mut dice: Rng) -> Self {
        let salt = dice.next_u64() | 1;
        let (words, given) = (BTreeMap::new(), BTreeSet::new());
        Self { dice, words, given, hosts: BTreeMap::new(), taken: BTreeSet::new(), salt }
    }

    /// The start of a tape.
    pub(super) fn start(&mut self, start: &Start) -> Option<Start> {
        let mut start = start.clone();
        start.name = self.text(&start.name);
        if let Some((kind, person)) = start.config.agent.split_once(PERSON) {
            start.config.agent = [kind, PERSON, &self.text(person)].concat();
        }
        let mut config = serde_json::to_value(&start.config).ok()?;
        self.value("", &mut config);
        start.config = serde_json::from_value(config).ok()?;
        Some(start)
    }

    /// An input; `None` for one that cannot be written under other names.
    pub(super) fn input(&mut self, input: &Input) -> Option<Input> {
        let mut value = serde_json::to_value(input).ok()?;
        self.value("", &mut value);
        serde_json::from_value(value).ok()
    }

    fn value(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.string(key, text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.value(key, one)),
            Value::Object(fields) => self.fields(fields),
            _ => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>) {
        // A place in the queue names the file it waits for by its key.
        let place = fields.contains_key("arrival") && fields.contains_key("told");
        for (key, value) in fields {
            match value.as_u64().filter(|_| key == "key" || (place && key == "file")) {
                Some(number) => *value = number.wrapping_mul(self.salt).into(),
                None => self.value(key, value),
            }
        }
    }

    fn string(&mut self, key: &str, text: &str) -> String {
        if let Ok(at) = text.parse::<SocketAddr>() {
            return self.address(at).to_string();
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return self.host(ip).to_string();
        }
        match key {
            "name" | "words" | "path" | "host" => self.text(text),
            "target" | "url" => self.target(text),
            _ => text.into(),
        }
    }

    /// A target, and after `#` another one.
    fn target(&mut self, text: &str) -> String {
        let mut parts = text.split('#').map(|part| match Target::parse(part) {
            Target::File { index, name } => {
                let name = self.text(&name);
                Target::File { index, name }.to_string()
            }
            Target::Path { path, query } => {
                let (path, query) = (self.text(&path), self.text(&query));
                Target::Path { path, query }.to_string()
            }
            _ => part.into(),
        });
        let first = parts.next().unwrap_or_default();
        parts.fold(first, |all, part| [&all, "#", &part].concat())
    }

    /// A text, word by word.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut said = String::new();
        let mut rest = text;
        while let Some(from) = rest.find(char::is_alphanumeric) {
            let (between, words) = rest.split_at(from);
            let end = words.find(|c: char| !c.is_alphanumeric()).unwrap_or(words.len());
            let (word, after) = words.split_at(end);
            said.push_str(between);
            said.push_str(&self.word(word));
            rest = after;
        }
        said.push_str(rest);
        said
    }

    fn word(&mut self, word: &str) -> String {
        let low = word.to_lowercase();
        if KINDS.contains(&low.as_str()) {
            return word.into();
        }
        if !self.words.contains_key(&low) {
            let other = self.draw(&low);
            self.given.insert(other.clone());
            self.words.insert(low.clone(), other);
        }
        let other = &self.words[&low];
        if !word.is_ascii() {
            return other.clone();
        }
        let large = word.chars().map(|c| c.is_ascii_uppercase()).chain(core::iter::repeat(false));
        let letter = |(c, large): (char, bool)| if large { c.to_ascii_uppercase() } else { c };
        other.chars().zip(large).map(letter).collect()
    }

    /// Another word: digits for digits, letters for letters.
    fn draw(&mut self, low: &str) -> String {
        let mut other = String::new();
        for n in 0.. {
            other.clear();
            for c in low.chars() {
                let (first, count) = if c.is_ascii_digit() { (b'0', 10) } else { (b'a', 26) };
                for _ in 0..c.len_utf8() {
                    other.push(char::from(first + self.dice.below(count) as u8));
                }
            }
            (0..n / DRAWS).for_each(|_| other.push(char::from(b'a' + self.dice.below(26) as u8)));
            if !self.given.contains(&other) && !KINDS.contains(&other.as_str()) {
                break;
            }
        }
        other
    }

    pub(super) fn address(&mut self, at: SocketAddr) -> SocketAddr {
        let mut other = at;
        other.set_ip(self.host(at.ip()));
        other
    }

    fn host(&mut self, ip: IpAddr) -> IpAddr {
        if let Some(known) = self.hosts.get(&ip) {
            return *known;
        }
        let mut other = ip;
        for _ in 0..DRAWS {
            other = match ip {
                IpAddr::V4(ip) => IpAddr::V4(self.draw_v4(ip)),
                IpAddr::V6(ip) => IpAddr::V6(self.draw_v6(ip)),
            };
            if !self.taken.contains(&other) && kind(other) == kind(ip) {
                break;
            }
        }
        self.taken.insert(other);
        self.hosts.insert(ip, other);
        other
    }

    /// As many digits in each number, in a network of the same kind.
    fn draw_v4(&mut self, ip: Ipv4Addr) -> Ipv4Addr {
        let mut octets = ip.octets();
        for octet in octets.iter_mut().skip(kept(ip)) {
            *octet = match *octet {
                0..10 => self.dice.below(10),
                10..100 => self.dice.between(10, 99),
                100.. => self.dice.between(100, 255),
            } as u8;
        }
        octets.into()
    }

    fn draw_v6(&mut self, ip: Ipv6Addr) -> Ipv6Addr {
        if ip.is_loopback() {
            return ip;
        }
        let mut segments = ip.segments();
        for segment in segments.iter_mut().skip(1).filter(|segment| **segment > 0) {
            let digits = segment.ilog2() / 4;
            let least = 1_u64 << (4 * digits);
            *segment = self.dice.between(least, (least << 4) - 1) as u16;
        }
        segments.into()
    }
}

/// Numbers of an address that say of what kind it is: all of one that has no owner.
const fn kept(ip: Ipv4Addr) -> usize {
    match ip.octets() {
        [0 | 127 | 224.., ..] => 4,
        [192, 168, ..] | [169, 254, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => 2,
        [10, ..] => 1,
        _ => 0,
    }
}

/// What two addresses have in common of which one stands for the other.
const fn kind(ip: IpAddr) -> (bool, usize) {
    match ip {
        IpAddr::V4(ip) => (true, kept(ip)),
        IpAddr::V6(_) => (false, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new(Rng::new(7))
    }

    #[test]
    fn a_word_is_always_the_same_other_one_of_its_length_in_its_case() {
        let mut names = names();
        let said = names.text("Anna's long Song 42.ogg, SONG by anna");
        let words: alloc::vec::Vec<&str> =
            said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let [anna, s, long, song, number, kind, again, _, her] = words[..] else {
            panic!("{said}")
        };
        assert_eq!((kind, said.len()), ("ogg", 37));
        assert_eq!(song.to_lowercase(), again.to_lowercase());
        assert_eq!((anna.to_lowercase().as_str(), again), (her, again.to_uppercase().as_str()));
        assert!(number.parse::<u32>().is_ok() && song.starts_with(|c: char| c.is_uppercase()));
        for (word, other) in [("anna", her), ("long", long), ("song", again), ("s", s)] {
            assert!(!other.eq_ignore_ascii_case(word) || word.len() == 1, "{said}");
        }
    }

    #[test]
    fn different_words_stay_different_however_short() {
        let mut names = names();
        let all: BTreeSet<String> = (0..100_u32).map(|n| names.text(&n.to_string())).collect();
        assert_eq!(all.len(), 100);
    }

    #[test]
    fn an_address_stays_of_its_kind_and_as_long_as_it_was() {
        let mut names = names();
        for at in ["192.168.1.23:6346", "10.0.200.3:1", "85.214.20.7:99", "[fe80::1:2a]:5"] {
            let at: SocketAddr = at.parse().unwrap();
            let other = names.address(at);
            assert_ne!(at, other);
            assert_eq!((other.port(), kind(other.ip())), (at.port(), kind(at.ip())));
            assert_eq!(other.to_string().len(), at.to_string().len(), "{at} {other}");
            assert_eq!(names.address(at), other, "always the same");
        }
        for at in ["127.0.0.1:1", "0.0.0.0:0", "240.1.2.3:4", "[::1]:9", "[::]:0"] {
            let at: SocketAddr = at.parse().unwrap();
            assert_eq!(names.address(at), at);
        }
    }

    #[test]
    fn a_target_keeps_its_form() {
        const URN: &str = "/uri-res/N2R?urn:sha1:ABCDEFGHABCDEFGHABCDEFGHABCDEFGH";
        let said = names().target(&["/get/3/my%20song.ogg", "#", URN].concat());
        let (file, rest) = said.split_once('#').unwrap();
        let Target::File { index, name } = Target::parse(file) else { panic!("{said}") };
        assert_eq!((index.0, name.len(), name.ends_with(".ogg")), (3, 11, true));
        assert!(!name.contains("song") && rest == URN, "{said}");
    }
}
