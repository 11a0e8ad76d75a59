//! Folders that contain more than a user wants to share.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use directories::BaseDirs;
use servent_core::text::Shown;

use crate::exit::{Exit, Failure, error_text};

/// Asks whether such a folder is really meant, unless the user has already said
/// so.
///
/// # Errors
/// It is not meant, or there is no terminal to ask on.
pub(crate) fn ask(folders: &[PathBuf], yes: bool) -> Result<(), Failure> {
    let home = BaseDirs::new().and_then(|dirs| dunce::canonicalize(dirs.home_dir()).ok());
    let wide = folders.iter().find_map(|folder| {
        let folder = dunce::canonicalize(folder).ok()?;
        is_wide(&folder, home.as_deref()).then_some(folder)
    });
    let Some(folder) = wide.filter(|_| !yes) else { return Ok(()) };
    let shown = folder.to_string_lossy();
    let what =
        format!("{} holds more than one shares: everything in it could be read", Shown(&shown));
    if io::stdin().is_terminal() && io::stderr().is_terminal() && agreed(&what)? {
        return Ok(());
    }
    Err(Failure::usage(what).next("name a folder in it, or add --yes if all of it is meant"))
}

/// True for the root of the file system, a home folder, or a folder that
/// contains one.
fn is_wide(folder: &Path, home: Option<&Path>) -> bool {
    folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder))
}

fn agreed(what: &str) -> Result<bool, Failure> {
    let mut answer = String::new();
    let asked = write!(io::stderr(), "{what}. Share it? [y/N] ");
    asked.and_then(|()| io::stdin().read_line(&mut answer)).map_err(|e| {
        Failure::new(Exit::Failed, format!("cannot ask on the terminal: {}", error_text(&e)))
    })?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_and_what_is_around_it_are_wide() {
        let home = Some(Path::new("/people/ann"));
        for wide in ["/", "/people", "/people/ann"] {
            assert!(is_wide(Path::new(wide), home), "{wide}");
        }
        for narrow in ["/people/ann/Music", "/srv", "/people/bob"] {
            assert!(!is_wide(Path::new(narrow), home), "{narrow}");
        }
        assert!(is_wide(Path::new("/"), None) && !is_wide(Path::new("/srv"), None));
    }
}
