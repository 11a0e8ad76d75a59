//! What the last search found, numbered, so that `servent get 3` takes one of it; and
//! the peers that it met, so that the next one can ask them.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::cli::start::make;
use crate::exit::{Exit, Failure};
use crate::progress::count;

/// The hits of the last search: the arguments of `get`, one hit a line.
const HITS: &str = "last-search";
/// Addresses of peers, the last met first, one a line.
const MET: &str = "met-peers";
/// More peers are not remembered.
const MOST: usize = 64;

/// The numbers of hits as they are printed.
pub(super) struct NumberedHits {
    path: PathBuf,
    file: File,
    count: usize,
}

impl NumberedHits {
    /// Begins a search: the numbers of the one before mean nothing any more, also if
    /// this one finds nothing.
    pub(super) fn begin(state: &Path) -> Result<Self, Failure> {
        make(state)?;
        let path = state.join(HITS);
        let file = File::create(&path).map_err(|e| Failure::file("write", &path, &e))?;
        Ok(Self { path, file, count: 0 })
    }

    /// The number of the next hit, which `get` takes by these arguments.
    pub(super) fn add(&mut self, get: &str) -> Result<usize, Failure> {
        writeln!(self.file, "{get}").map_err(|e| Failure::file("write", &self.path, &e))?;
        self.count += 1;
        Ok(self.count)
    }
}

/// The arguments of `get`, with what each number of the last search stands for.
pub(crate) fn expand(state: &Path, arguments: &[String]) -> Result<Vec<String>, Failure> {
    let number = |argument: &String| argument.parse::<usize>().ok();
    if !arguments.iter().any(|argument| number(argument).is_some()) {
        return Ok(arguments.to_vec());
    }
    let hits = std::fs::read_to_string(state.join(HITS)).ok();
    let searched = hits.is_some();
    let hits: Vec<&str> = hits.iter().flat_map(|hits| hits.lines()).collect();
    let mut expanded = Vec::new();
    for argument in arguments {
        let Some(number) = number(argument) else {
            expanded.push(argument.clone());
            continue;
        };
        let hit = number.checked_sub(1).and_then(|place| hits.get(place));
        let Some(hit) = hit else { return Err(unknown(number, searched, hits.len())) };
        expanded.extend(hit.split_whitespace().map(str::to_owned));
    }
    Ok(expanded)
}

fn unknown(number: usize, searched: bool, hits: usize) -> Failure {
    let what = match hits {
        0 if searched => format!("{number}: the last search found nothing"),
        0 => format!("{number}: no search has found anything yet"),
        hits => format!("{number}: the last search found {}", count(hits as u64, "hit")),
    };
    Failure::new(Exit::Usage, what).next("search first: servent search WORD")
}

/// The peers that earlier searches met.
pub(super) fn met(state: &Path) -> Vec<SocketAddr> {
    let text = std::fs::read_to_string(state.join(MET)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Remembers the peers that a search met, in front of those met before.
pub(super) fn remember(state: &Path, peers: &[SocketAddr]) -> io::Result<()> {
    if peers.is_empty() {
        return Ok(());
    }
    let mut all: Vec<SocketAddr> = Vec::new();
    for peer in peers.iter().copied().chain(met(state)) {
        if !all.contains(&peer) {
            all.push(peer);
        }
    }
    let lines: String = all.iter().take(MOST).map(|peer| format!("{peer}\n")).collect();
    std::fs::write(state.join(MET), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_a_hit_of_the_last_search() {
        let dir = tempfile::tempdir().unwrap();
        let arguments = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let expanded = |text| expand(dir.path(), &arguments(text));
        assert!(expanded("1").unwrap_err().what.contains("no search has found anything yet"));
        let mut hits = NumberedHits::begin(dir.path()).unwrap();
        assert_eq!(hits.add("http://h/1").unwrap(), 1);
        assert_eq!(hits.add("urn:sha1:X a:1 b:2").unwrap(), 2);
        assert_eq!(expanded("2 http://h/2").unwrap(), arguments("urn:sha1:X a:1 b:2 http://h/2"));
        assert!(expanded("3").unwrap_err().what.contains("found 2 hits"));
        assert!(expanded("0").is_err());
        let mut hits = NumberedHits::begin(dir.path()).unwrap();
        assert!(expanded("1").unwrap_err().what.contains("the last search found nothing"));
        assert_eq!(hits.add("other").unwrap(), 1);
        assert_eq!(expanded("1").unwrap(), ["other"]);
    }

    #[test]
    fn peers_are_remembered_once_the_last_met_first() {
        let dir = tempfile::tempdir().unwrap();
        let at = |n: u8| SocketAddr::from(([10, 0, 0, n], 6346));
        remember(dir.path(), &[at(1), at(2)]).unwrap();
        remember(dir.path(), &[at(3), at(1)]).unwrap();
        assert_eq!(met(dir.path()), [at(3), at(1), at(2)]);
        remember(dir.path(), &[]).unwrap();
        let many: Vec<SocketAddr> = (0..200).map(at).collect();
        remember(dir.path(), &many).unwrap();
        assert_eq!(met(dir.path()).len(), MOST);
    }
}
