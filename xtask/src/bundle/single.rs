//! The page as one document that needs no server.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use data_encoding::BASE64;

use super::{glue, modules, read, styles, swap};
use crate::gzip::gzip;
use crate::wasm::{ALL, module};

/// The page as one document.
///
/// A page from `file://` may fetch nothing, so the module of all views is
/// inside, compressed and in base 64; the browser inflates it.
///
/// # Errors
/// When the bindings are not built, or a file has another form.
pub(crate) fn single(www: &Path, pkg: &Path) -> Result<String> {
    let wasm = fs::read(pkg.join(module(ALL))).context("the bindings are not built")?;
    let mut script = glue(pkg, &[ALL])?;
    script.push_str(&format!("globalThis.SERVENT_WASM = '{}';\n", BASE64.encode(&gzip(&wasm))));
    let mut style = styles(&www.join("css"))?;
    let scripts = modules::join(&www.join("js"))?;
    let mut app = scripts.main;
    for (name, text) in scripts.chunks {
        let stem = name.trim_end_matches(".js");
        script.push_str(&text.replacen("export default ", &format!("const $later_{stem} = "), 1));
        app = swap(
            &app,
            &format!("import('./{name}')"),
            &format!("Promise.resolve({{ default: $later_{stem} }})"),
        )?;
        let beside = www.join(format!("css/{stem}.css"));
        if beside.is_file() {
            style.push_str(&read(&beside)?);
        }
    }
    script.push_str(&app);
    let index: String = read(&www.join("index.html"))?
        .lines()
        .filter(|line| !line.contains("Content-Security-Policy"))
        .fold(String::new(), |all, line| all + line + "\n");
    let style = format!("<style>\n{style}</style>");
    let index = swap(&index, "<link rel=\"stylesheet\" href=\"css/app.css\">", &style)?;
    let script = format!(
        "<script type=\"module\">\n{}</script>",
        script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    );
    swap(&index, "<script type=\"module\" src=\"js/main.js\"></script>", &script)
}
