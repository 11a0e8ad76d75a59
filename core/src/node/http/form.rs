//! The form on the page by which visitors upload files, and its script.

use alloc::string::String;
use core::fmt::Write as _;

use crate::text::Size;

/// The script of the form, which is written into the page.
const SCRIPT: &str = include_str!("give.js");
/// The SHA-256 of the script: no other one may run in the page, whatever a file
/// is called.
pub(super) const SCRIPT_HASH: &str = "5JN+vRWNhwsjQfHLv5RzruVJqod736hXP8yQRK2nPHQ=";

const STYLE: &str = "#give{border:2px dashed #8886;border-radius:.6rem;\
padding:1rem;margin:1rem 0}#give.over{border-color:Highlight;background:#8882}\
#give p{margin:0}#give ul{list-style:none;margin:0;padding:0}\
#give li{display:flex;flex-wrap:wrap;gap:.3rem .8rem;align-items:center;padding:.3rem 0;\
margin-top:.4rem;border-top:1px solid #8884}\
#give li>span:first-child{flex:1 1 12rem;overflow-wrap:anywhere}\
#give progress{flex:0 1 14rem;min-width:6rem}#give .said{min-width:3.5rem}\
#give .good .said::before{content:'✓ '}#give .bad .said::before{content:'✗ '}";

/// What the form says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Give {
    /// The most bytes a file may have.
    pub(super) most: u64,
}

/// Writes the form.
pub(super) fn form(html: &mut String, give: Give) {
    let _ = write!(
        html,
        "<style>{STYLE}</style><section id=give data-most={0} aria-label=\"Upload\">\
         <p><label>Upload files <input type=file multiple></label> or drop them here; \
         one may have {1}.</p><noscript><p>Without scripts: <code>curl -T FILE</code> and the \
         address of this page.</p></noscript><ul aria-live=polite></ul></section>\
         <script>{SCRIPT}</script>",
        give.most,
        Size(give.most),
    );
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_page_runs_this_script_and_no_other() {
        assert_eq!(BASE64.encode(&Sha256::digest(SCRIPT)), SCRIPT_HASH);
        assert!(!SCRIPT.contains("</"));
    }
}
