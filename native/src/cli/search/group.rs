//! Groups hits by file: hits with the same hash are sources of the same file.

use std::net::SocketAddr;

use clap::ValueEnum;
use serde_json::json;
use servent_core::id::Sha1;
use servent_core::node::SearchHit;
use servent_core::text::Shown;

use super::last::NumberedHits;
use super::{HitReach, HitRoute, locator};
use crate::exit::Failure;
use crate::progress::{Voice, bytes, count};

/// The sort order of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sort {
    /// Most sources first.
    Sources,
    /// By name.
    Name,
    /// Largest first.
    Size,
}

/// A file and its sources.
struct FoundFile {
    name: String,
    size: u64,
    sha1: Option<Sha1>,
    sources: Vec<FoundSource>,
}

/// One of the servents that have it.
struct FoundSource {
    /// The `get` argument.
    get: String,
    /// Its address if it can be asked directly.
    at: Option<SocketAddr>,
    /// Its link if it is met at a place.
    link: Option<String>,
    reach: HitReach,
}

/// All files found so far.
#[derive(Default)]
pub(super) struct FoundFiles(Vec<FoundFile>);

impl FoundFiles {
    /// Adds a hit, and how its servent is reached.
    pub(super) fn add(&mut self, hit: &SearchHit, route: &HitRoute) {
        let (get, at) = (locator(hit, route.peer), Some(hit.at).filter(|_| !hit.push));
        let source = FoundSource { get, at, link: route.link(hit), reach: route.reach(hit) };
        let same = |file: &&mut FoundFile| file.sha1.is_some() && file.sha1 == hit.sha1;
        match self.0.iter_mut().find(same) {
            Some(file) => file.sources.push(source),
            None => {
                let (name, size, sha1) = (hit.name.clone(), hit.size, hit.sha1);
                self.0.push(FoundFile { name, size, sha1, sources: vec![source] });
            }
        }
    }

    /// All files in order, one per line, with their numbers.
    pub(super) fn lines(
        mut self,
        sort: Sort,
        voice: Voice,
        hits: &mut NumberedHits,
    ) -> Result<String, Failure> {
        let name = |file: &FoundFile| file.name.to_lowercase();
        match sort {
            Sort::Name => self.0.sort_by_key(name),
            Sort::Size => self.0.sort_by_key(|file| (std::cmp::Reverse(file.size), name(file))),
            Sort::Sources => {
                let most = |file: &FoundFile| std::cmp::Reverse(file.sources.len());
                self.0.sort_by_key(|file| (most(file), name(file)));
            }
        }
        let mut lines = String::new();
        for file in &self.0 {
            lines.push_str(&file.line(hits.add(&file.get())?, voice));
        }
        Ok(lines)
    }
}

impl FoundFile {
    /// The `servent get` arguments for all of its sources together: one that is only asked to
    /// connect to us is named where none can be asked directly.
    fn get(&self) -> String {
        let direct = self.sources.iter().filter_map(|it| Some(it.at.as_ref()?.to_string()));
        let links = self.sources.iter().filter_map(|it| it.link.clone());
        let direct: Vec<String> = direct.collect();
        let others: Vec<String> = direct.iter().cloned().chain(links).collect();
        let best = self.sources.iter().min_by_key(|it| it.reach).map(|it| it.get.clone());
        let best = best.unwrap_or_default();
        match (self.sha1, &self.sources[..]) {
            (None, _) => best,
            (Some(_), [FoundSource { at: Some(_), .. }]) => best,
            (Some(sha1), _) if direct.is_empty() => {
                [&[best, format!("urn:sha1:{sha1}")][..], &others].concat().join(" ")
            }
            (Some(sha1), _) => format!("urn:sha1:{sha1} {}", others.join(" ")),
        }
    }

    fn line(&self, number: usize, voice: Voice) -> String {
        let sha1 = self.sha1.map(|sha1| format!("urn:sha1:{sha1}"));
        let Self { name, size, sources, .. } = self;
        if voice == Voice::Json {
            let each: Vec<&String> = sources.iter().map(|it| &it.get).collect();
            let reach: Vec<HitReach> = sources.iter().map(|it| it.reach).collect();
            let fact = json!({
                "event": "file", "number": number, "name": name, "bytes": size, "sha1": sha1,
                "sources": sources.len(), "get": self.get(), "each": each, "reach": reach,
            });
            return format!("{fact}\n");
        }
        let many = count(sources.len() as u64, "source");
        let (size, name, get) = (bytes(*size), Shown(name), self.get());
        format!("{number:>3}  {size:>10}  {many:>10}  {name}  {get}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::search::tests;

    fn hit(name: &str, size: u64, sha1: Option<u8>, at: &str, push: bool) -> SearchHit {
        let sha1 = sha1.map(|n| Sha1([n; 20]));
        SearchHit { name: name.into(), size, sha1, ..tests::hit(at, push) }
    }

    #[test]
    fn the_same_hash_is_one_file_and_files_are_sorted() {
        let sorted = |sort| {
            let mut files = FoundFiles::default();
            for (name, size, sha1, at, push) in [
                ("b", 30, None, "1.1.1.1:1", false),
                ("b", 30, None, "2.2.2.2:2", false),
                ("C", 10, Some(0), "1.1.1.1:1", false),
                ("other name", 10, Some(0), "3.3.3.3:3", false),
                ("C", 10, Some(0), "4.4.4.4:4", true),
                ("a", 20, None, "1.1.1.1:1", false),
            ] {
                files.add(&hit(name, size, sha1, at, push), &HitRoute::default());
            }
            let dir = tempfile::tempdir().unwrap();
            let mut hits = NumberedHits::begin(dir.path()).unwrap();
            let lines = files.lines(sort, Voice::Json, &mut hits).unwrap();
            let read = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
            lines.lines().map(read).collect::<Vec<_>>()
        };
        let names = |sort| -> Vec<String> {
            sorted(sort).iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(Sort::Name), ["a", "b", "b", "C"], "without a hash two files may differ");
        assert_eq!(names(Sort::Size), ["b", "b", "a", "C"]);
        let first = &sorted(Sort::Sources)[0];
        let urn = "urn:sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        assert_eq!((first["sources"].as_u64(), first["sha1"].as_str()), (Some(3), Some(urn)));
        assert_eq!(first["get"], format!("{urn} 1.1.1.1:1 3.3.3.3:3"));
    }

    #[test]
    fn a_file_that_is_only_met_somewhere_is_got_from_all_who_have_it() {
        let mut files = FoundFiles::default();
        let peer = Some("9.9.9.9:6346".parse().unwrap());
        let links = [None, Some("meet://a-b@3.3.3.3:3333"), Some("meet://c-d@4.4.4.4:4444")];
        for (at, link) in ["1.1.1.1:6346", "2.2.2.2:6346", "5.5.5.5:6346"].iter().zip(links) {
            let route = HitRoute { peer, meeting: link.map(str::to_owned), walled: false };
            files.add(&hit("a", 10, Some(0), at, true), &route);
        }
        let get = files.0[0].get();
        let words: Vec<&str> = get.split(' ').collect();
        assert_eq!(words.len(), 4, "{get}");
        assert!(words[0].starts_with("push://") && words[1].starts_with("urn:sha1:"), "{get}");
        assert!(
            words[2].starts_with("meet://a-b@") && words[3].starts_with("meet://c-d@"),
            "{get}"
        );
        files.add(&hit("a", 10, Some(0), "6.6.6.6:6346", false), &HitRoute::default());
        let get = files.0[0].get();
        assert!(get.contains(" 6.6.6.6:6346 meet://") && !get.contains("push://"), "{get}");
    }
}
