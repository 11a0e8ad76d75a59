//! `-i`: downloads listed in a file or on standard input.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use crate::cli::get::source::RequestedFile;
use crate::exit::Failure;
use crate::progress::count;

/// What a list names.
#[derive(Debug, Default)]
pub(crate) struct ReadList {
    pub(crate) wanted: Vec<RequestedFile>,
    /// What is wrong with lines that name nothing; the others are not stopped by it.
    pub(crate) wrong: Vec<Failure>,
}

impl ReadList {
    /// An error when some lines were wrong.
    pub(crate) fn verdict(&self, file: &Path) -> Result<(), Failure> {
        match self.wrong.len() as u64 {
            0 => Ok(()),
            lines => {
                let what = format!("{} of {} cannot be read", count(lines, "line"), file.display());
                Err(Failure::usage(what).next("mend them; the same command goes on with those"))
            }
        }
    }
}

/// Reads a list: each line is what `get` would take for one file, and what begins
/// with `#`, at the beginning of a line or behind a blank, is a comment. `-` is
/// standard input.
pub(crate) fn read(file: &Path) -> Result<ReadList, Failure> {
    let stdin = file == Path::new("-");
    let text = if stdin {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(file)
    };
    let name = if stdin { Path::new("standard input") } else { file };
    let text = text.map_err(|e| Failure::file("read", name, &e))?;
    Ok(parse(&String::from_utf8_lossy(&text), name))
}

fn parse(text: &str, name: &Path) -> ReadList {
    let mut all = ReadList::default();
    let mut seen = BTreeSet::new();
    for (n, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        let words: Vec<String> = words.map(str::to_owned).collect();
        if !seen.insert(words.clone()) {
            continue;
        }
        match RequestedFile::parse(&words, &[]) {
            Ok(wanted) => all.wanted.extend(wanted),
            Err(mut failure) => {
                failure.what = format!("{} line {n}: {}", name.display(), failure.what);
                all.wrong.push(failure);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn list(text: &str) -> ReadList {
        parse(text, Path::new("list.txt"))
    }

    #[test]
    fn a_line_is_a_download_and_comments_are_none() {
        let all =
            list("\u{feff}# two\n\n http://h/a  # one\r\nhttp://h/b\nhttp://h/a\n#http://h/c\n");
        let names: Vec<String> = all.wanted.iter().map(RequestedFile::file_name).collect();
        assert_eq!(names, ["a", "b"], "what is there twice is one download");
        let urn = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
        let all = list(&format!("{urn} g:1 h:2\nhttp://h/b")).wanted;
        assert_eq!((all.len(), all[0].places.len()), (2, 2));
        assert!(list("# nothing\n").wanted.is_empty());
        let marked = list("http://h/a#b http://h/c");
        assert_eq!(marked.wanted.len(), 2, "what is behind no blank is no comment");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_stops_no_other() {
        let all = list("http://h/a\nnonsense\nhttp://h/b\n");
        assert_eq!((all.wanted.len(), all.wrong.len()), (2, 1));
        assert!(all.wrong[0].what.starts_with("list.txt line 2: nonsense"), "{}", all.wrong[0]);
        let verdict = all.verdict(Path::new("list.txt")).unwrap_err();
        assert_eq!(
            (verdict.exit, &verdict.what[..]),
            (Exit::Usage, "1 line of list.txt cannot be read")
        );
    }
}
