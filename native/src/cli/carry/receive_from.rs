//! What `servent receive --from` is given that is for another command.

use servent_core::text::Shown;

use crate::exit::Failure;

/// A link to something that a servent shares.
pub(crate) fn link_for_get(link: &str, path: &str) -> Failure {
    let what = format!("the link leads to {} at a servent, and not to a sender", Shown(path));
    Failure::usage(what).next(format!("download it: servent get {link}"))
}

/// Refuses an address of something that is downloaded.
pub(crate) fn check_sender(from: &str) -> Result<(), Failure> {
    let Some((scheme, _)) = from.split_once("://") else { return Ok(()) };
    let web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let failure = Failure::usage(format!("`{from}` is the address of no sender"));
    Err(if web {
        failure.next(format!("download it: servent get {from}"))
    } else {
        failure.next("name its host, or take the link that `servent send --to N --via` prints")
    })
}
