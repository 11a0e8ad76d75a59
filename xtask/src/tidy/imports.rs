//! No circle between the folders of a crate: a reader of one of them must not
//! have to know all of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Text;

/// The sources that are held to this.
const CRATES: [&str; 3] = ["core/src/", "native/src/", "sim/src/"];

/// What each folder imports, and one place where it does.
type Graph<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

/// The circles, each by its imports.
pub(super) fn check(files: &[Text]) -> Vec<String> {
    CRATES.iter().filter_map(|sources| circle(sources, &graph(files, sources))).collect()
}

/// The import graph of the folders (and single files) right below `sources`.
fn graph<'a>(files: &'a [Text], sources: &str) -> Graph<'a> {
    let inside = || {
        files.iter().filter_map(|file| {
            let room = room(file.path.strip_prefix(sources)?)?;
            Some((file, room))
        })
    };
    let rooms: BTreeSet<&str> = inside().map(|(_, room)| room).collect();
    let mut graph = Graph::new();
    for (file, room) in inside() {
        for (line, other) in imports(&file.text) {
            if let Some(other) = rooms.get(other).filter(|other| **other != room) {
                let place = || format!("{}:{line}", file.path);
                graph.entry(room).or_default().entry(other).or_insert_with(place);
            }
        }
    }
    graph
}

/// Which folder a source is in, or its own name; `None` for the root of a
/// crate, which names them all, and for tests.
fn room(path: &str) -> Option<&str> {
    let name = path.strip_suffix(".rs")?;
    if name.ends_with("tests") || matches!(name, "lib" | "main") {
        return None;
    }
    name.split('/').next()
}

/// The first words after `crate::`, each with its line, up to the tests.
fn imports(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut group = 0; // How many braces of a `use crate::{…}` are open.
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("#[cfg(test)]") {
            break; // Tests stand at the end of a file and may do as they like.
        }
        let code = line.split("//").next().unwrap_or_default();
        let mut names = code;
        if group == 0 {
            found.extend(code.split("crate::").skip(1).map(|path| (number, first(path))));
            let Some((_, listed)) = code.split_once("crate::{") else { continue };
            (names, group) = (listed, 1);
        }
        for part in names.split_inclusive([',', '{', '}']) {
            if group == 1 {
                found.push((number, first(part.trim_start())));
            }
            group = match part.chars().next_back() {
                Some('{') => group + 1,
                Some('}') => group - 1,
                _ => group,
            };
            if group == 0 {
                break;
            }
        }
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}

/// The word a path begins with.
fn first(path: &str) -> &str {
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// One of the shortest circles, in words.
fn circle(sources: &str, graph: &Graph<'_>) -> Option<String> {
    let rooms = graph.keys().filter_map(|room| way_back(graph, room));
    let way = rooms.min_by_key(Vec::len)?;
    let steps = way.windows(2).map(|pair| {
        let place = &graph[pair[0]][pair[1]];
        format!("{} imports {} ({place})", pair[0], pair[1])
    });
    Some(format!("{sources}: a circle: {}", steps.collect::<Vec<_>>().join(", ")))
}

/// The shortest way from a folder back to itself.
fn way_back<'a>(graph: &Graph<'a>, from: &'a str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in way.last().and_then(|last| graph.get(last)).into_iter().flat_map(|to| to.keys())
        {
            let longer = || way.iter().copied().chain([*next]).collect();
            if *next == from {
                return Some(longer());
            }
            if seen.insert(*next) {
                ways.push_back(longer());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(sources: [(&str, &str); 3]) -> Vec<Text> {
        sources.map(|(path, text)| Text { path: path.into(), text: text.into() }).into()
    }

    #[test]
    fn what_leads_one_way_passes() {
        let files = tree([
            ("core/src/a.rs", "use crate::b::Z;\nuse crate::c;\n"),
            ("core/src/b/x.rs", "use crate::c::D;\nuse crate::b::y;\n// crate::a says no\n"),
            ("core/src/c.rs", "#[cfg(test)]\nmod tests { use crate::a; }\n"),
        ]);
        assert_eq!(check(&files), [""; 0]);
    }

    #[test]
    fn a_circle_is_told_with_its_places() {
        let files = tree([
            ("core/src/a.rs", "\nuse crate::b::Z;\n"),
            ("core/src/b/x.rs", "use crate::{\n    keep,\n    c::{a, D},\n};\n"),
            ("core/src/c.rs", "fn f() -> crate::a::A {}\n"),
        ]);
        let told = "core/src/: a circle: a imports b (core/src/a.rs:2), \
                    b imports c (core/src/b/x.rs:3), c imports a (core/src/c.rs:1)";
        assert_eq!(check(&files), [told]);
    }

    #[test]
    fn names_in_braces_are_those_of_the_first_level() {
        let found = imports("use crate::{a, b::{c, d}, e};\nlet x = crate::f::g(crate::h);\n");
        let names: Vec<&str> = found.into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["a", "b", "e", "f", "h"]);
    }
}
