//! `-i`: downloads listed in a file or on standard input.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use super::source::RequestedFile;
use crate::exit::Failure;

/// Reads a list: each line is what `get` would take for one file, and lines
/// that begin with `#` are comments. `-` is standard input.
pub(super) fn read(file: &Path) -> Result<Vec<RequestedFile>, Failure> {
    let stdin = file == Path::new("-");
    let text = if stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let name = if stdin { Path::new("standard input") } else { file };
    parse(&text.map_err(|e| Failure::file("read", name, &e))?, name)
}

fn parse(text: &str, name: &Path) -> Result<Vec<RequestedFile>, Failure> {
    let mut all: Vec<RequestedFile> = Vec::new();
    let mut seen = BTreeSet::new();
    for (n, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if !seen.insert(words.clone()) {
            continue;
        }
        let wanted = RequestedFile::parse(&words, &[]).map_err(|mut failure| {
            failure.what = format!("{} line {n}: {}", name.display(), failure.what);
            failure
        })?;
        all.extend(wanted);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn list(text: &str) -> Result<Vec<RequestedFile>, Failure> {
        parse(text, Path::new("list.txt"))
    }

    #[test]
    fn a_line_is_a_download_and_comments_are_none() {
        let all = list("# two\n\n http://h/a \r\nhttp://h/b\nhttp://h/a\n#http://h/c\n").unwrap();
        let names: Vec<String> = all.iter().map(RequestedFile::file_name).collect();
        assert_eq!(names, ["a", "b"], "what is there twice is one download");
        let urn = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
        let all = list(&format!("{urn} g:1 h:2\nhttp://h/b")).unwrap();
        assert_eq!((all.len(), all[0].places.len()), (2, 2));
        assert!(list("# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = list("http://h/a\nnonsense\n").unwrap_err();
        assert_eq!(wrong.exit, Exit::Usage);
        assert!(wrong.what.starts_with("list.txt line 2: nonsense"), "{wrong}");
    }
}
