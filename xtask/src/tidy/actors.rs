//! Comments and names of functions name the actor. A reader of "the queue skips
//! a client that is late" knows which program is meant; a pronoun leaves it open.

use super::Text;

/// Pronouns that stand for an actor without naming one. Written in two parts, so
/// that this file does not break its own rule.
const PRONOUNS: [&str; 6] = [
    concat!("who", "ever"),
    concat!("whom", "ever"),
    concat!("who", "m"),
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("every", "body"),
];

/// Ways of speaking that leave out the actor, too.
const PHRASES: [&str; 2] = [concat!("what was ", "told"), concat!("to be ", "had")];

/// What to write instead.
const INSTEAD: &str = "name the actor (client, server, peer, member, page, person, program, …)";

/// Lessons are texts for people, who speak like this.
const LESSONS: &str = "sim/lessons/";

/// The comments, names of functions and titles of tests that name no actor.
pub(super) fn check(file: &Text) -> Vec<String> {
    let Some(language) = Language::of_file(&file.path) else { return Vec::new() };
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let comment = language.comment(line, &mut inside);
        let name = defined(line);
        let Some(word) = comment.and_then(vague).or_else(|| name.and_then(vague)) else { continue };
        let place = format!("{}:{number}", file.path);
        found.push(format!("{place}: {INSTEAD} instead of `{word}`: {}", line.trim()));
    }
    found
}

/// How a language marks its comments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Script,
    Style,
}

impl Language {
    /// That of a source; `None` for what is not held to this.
    fn of_file(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        match end {
            _ if path.starts_with(LESSONS) => None,
            "rs" => Some(Self::Rust),
            "js" | "mjs" => Some(Self::Script),
            "css" => Some(Self::Style),
            _ => None,
        }
    }

    /// The comment in a line; `inside` says whether a block of several lines is
    /// open, before the line and after it.
    fn comment<'a>(self, line: &'a str, inside: &mut bool) -> Option<&'a str> {
        if !*inside {
            let block = line.find("/*").filter(|at| self != Self::Rust && code_until(line, *at));
            *inside = block.is_some();
        }
        if *inside {
            let (comment, rest) = line.split_once("*/").map_or((line, None), |(c, r)| (c, Some(r)));
            *inside = rest.is_none();
            return Some(comment.split_once("/*").map_or(comment, |(_, comment)| comment));
        }
        let at = line.match_indices("//").map(|(at, _)| at).find(|at| code_until(line, *at))?;
        (self != Self::Style).then(|| &line[at..])
    }
}

/// True when no string is open at `at`, and no address is in the middle there.
fn code_until(line: &str, at: usize) -> bool {
    let before = &line[..at];
    let open = |quote| before.matches(quote).count() % 2 == 1;
    !open('"') && !open('`') && !before.ends_with(':')
}

/// The name of the function that a line defines, or the title of the test.
fn defined(line: &str) -> Option<&str> {
    let code = line.trim_start();
    if let Some(title) = code.strip_prefix("test('") {
        return title.split_once('\'').map(|(title, _)| title);
    }
    let name = |marker| code.split_once(marker).filter(|(before, _)| !before.contains('"'));
    let (_, rest) = name("fn ").or_else(|| name("function "))?;
    rest.split(['(', '<']).next()
}

/// The first word or phrase in a text that names no actor.
fn vague(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    // In names a genitive has no apostrophe.
    let bare =
        |word: &str| PRONOUNS.into_iter().find(|p| *p == word.strip_suffix('s').unwrap_or(word));
    words.find_map(bare).or_else(|| PHRASES.into_iter().find(|phrase| text.contains(phrase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> usize {
        check(&Text { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn each_way_to_leave_the_actor_out_is_found() {
        for (path, line) in [
            ("core/src/a.rs", concat!("/// The queue calls who", "ever is next.\n")),
            ("core/src/a.rs", concat!("let a = 1; // Every", "body's share.\n")),
            ("core/src/a.rs", concat!("//! Keeps what was ", "told.\n")),
            ("core/tests/a.rs", concat!("    fn pq_1_no", "bodys_place_is_lost() {\n")),
            ("www/js/a.js", concat!("/**\n * For some", "body.\n */\n")),
            ("www/css/a.css", concat!("/* For who", "m it is. */\n")),
            ("www/tests/a.test.js", concat!("test('no", "body waits', () => {\n")),
        ] {
            assert_eq!(breaches(path, line), 1, "{path}: {line}");
        }
    }

    #[test]
    fn actors_strings_and_lessons_pass() {
        for (path, line) in [
            ("core/src/a.rs", "/// The queue calls the next client.\n"),
            ("core/src/a.rs", concat!("fail(\"no", "body listens\");\n")),
            ("core/src/a.rs", concat!("let at = \"https://no", "body.example\";\n")),
            ("www/js/a.js", concat!("t('host.no", "body'); /* a key */ f('no", "body');\n")),
            ("www/js/a.js", concat!("/* one */\nlet who", "m;\n")),
            ("sim/lessons/a.js", concat!("// Why no", "body may ask early.\n")),
            ("docs/a.md", concat!("No", "body knows.\n")),
        ] {
            assert_eq!(breaches(path, line), 0, "{path}: {line}");
        }
    }

    #[test]
    fn the_message_says_where_and_what_to_write() {
        let text = concat!("\n// Who", "ever asks.\n");
        let found = check(&Text { path: "web/src/a.rs".into(), text: text.into() });
        let told = format!("web/src/a.rs:2: {INSTEAD} instead of `who");
        assert!(found[0].starts_with(&told), "{found:?}");
    }
}
