//! The same seed gives the same digest wherever the core runs.

use anyhow::{Result, anyhow, bail};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::{Tool, cargo};
use crate::steps::{Context, Outcome};
use crate::{machine, paths, second};

/// Digests as one place counted them.
struct Counted {
    place: &'static str,
    lines: Vec<(String, String)>,
    note: String,
}

/// Runs every preset natively as built for development, in Node and in the browsers that
/// are here, and compares. The page's module is optimised and without the checks of
/// overflows, the native program is neither: a result that depends on one of them, or on
/// the width of a pointer, differs here. A native program of the release profile has
/// nothing that none of them has, and costs minutes: see [`released`].
pub(crate) fn step(context: &Context) -> Result<Outcome> {
    // The page's half needs nothing of cargo, so it runs beside the other.
    let (native, page) = std::thread::scope(|scope| {
        let page = scope.spawn(|| in_the_page(context));
        (natively("native debug", "--workspace", "debug"), page.join())
    });
    let wanted = native?;
    let page = page.map_err(|_| anyhow!("the page's half broke off"))??;
    equal(&wanted, &page).map(Outcome::Done)
}

/// The same natively, as built for development and for use: a part of the campaign.
///
/// # Errors
/// They differ, or do not build.
pub(crate) fn released() -> Result<String> {
    let debug = natively("native debug", "--workspace", "debug")?;
    let release = natively("native release", "--release --package servent-sim", "release")?;
    equal(&debug, &[release])
}

/// Compares; the words that say what is equal.
fn equal(wanted: &Counted, others: &[Counted]) -> Result<String> {
    if wanted.lines.is_empty() {
        bail!("the example `digests` of servent-sim printed nothing");
    }
    let (mut places, mut notes) = (vec![wanted.place], Vec::new());
    for counted in others {
        compare(&wanted.lines, counted.place, &counted.lines)?;
        places.push(counted.place);
        notes.push(counted.note.clone());
    }
    let words = format!("{} presets, equal in {}", wanted.lines.len(), places.join(", "));
    Ok(second::joined(&[vec![words], notes].concat()))
}

/// Digests of a native program; what the tests have built is not built again.
fn natively(place: &'static str, words: &str, folder: &str) -> Result<Counted> {
    cargo().words("build --quiet --example digests").words(words).quiet()?;
    let program = paths::target().join(folder).join("examples/digests");
    let text = Tool::new(program).quiet()?;
    Ok(Counted { place, lines: lines(&text), note: String::new() })
}

/// The page's module in Node and in every browser that is here.
fn in_the_page(context: &Context) -> Result<Vec<Counted>> {
    if machine::find(&["npm"]).is_none() {
        return Ok(Vec::new());
    }
    let mut all = vec![in_node()?];
    for (browser, variable) in [(CHROMIUM, "CHROMIUM"), (FIREFOX, "FIREFOX")] {
        if let Found::At(path) = browser.find(context)? {
            let run = || in_engine(browser.name).env(variable, &path).quiet();
            let (text, note) = second::chance(browser.name, run)?;
            all.push(Counted { place: browser.name, lines: lines(&text), note });
        }
    }
    Ok(all)
}

fn in_node() -> Result<Counted> {
    let text = in_engine("node").quiet()?;
    Ok(Counted { place: "Node", lines: lines(&text), note: String::new() })
}

/// What counts the digests of the page's module.
fn in_engine(engine: &str) -> Tool {
    Tool::new("npm").words("run --silent digest").env("ENGINE", engine).within(paths::www())
}

/// `<preset> <digest>` a line; anything else a tool may say is left out.
fn lines(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let (preset, digest) = line.trim().split_once(' ')?;
            let is_digest = digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit());
            is_digest.then(|| (preset.to_owned(), digest.to_owned()))
        })
        .collect()
}

fn compare(wanted: &[(String, String)], place: &str, got: &[(String, String)]) -> Result<()> {
    if wanted.len() != got.len() {
        bail!("{place} ran {} presets, native debug {}", got.len(), wanted.len());
    }
    for (w, g) in wanted.iter().zip(got) {
        if w != g {
            bail!("{place}: preset {} has digest {}, native debug {} {}", g.0, g.1, w.0, w.1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_compared_and_a_difference_is_named() {
        let a = lines("rush 0123456789abcdef\nnoise\ncut 00000000000000ff\n");
        assert_eq!(a.len(), 2);
        assert!(compare(&a, "Node", &a).is_ok());
        let b = lines("rush 0123456789abcdef\ncut 00000000000000fe\n");
        let error = compare(&a, "Node", &b).unwrap_err().to_string();
        assert!(error.contains("cut") && error.contains("Node"), "{error}");
        assert!(compare(&a, "Node", &a[..1]).is_err());
    }
}
