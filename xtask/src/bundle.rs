//! The page, ready to be embedded: few files instead of many modules.
//!
//! The modules of `www/js` keep to a plain form: `import { a, b as c } from
//! './x.js';` and `import './x.js';` at the start of a line, `export` before a
//! function, class or const, no cycles. So each becomes a function that is run
//! once, in order of need, and nothing has to understand JavaScript.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use data_encoding::BASE64;

/// Builds the page in `out`; answers with names and sizes.
///
/// # Errors
/// When a file cannot be read or written, or a module has another form.
pub(crate) fn page(www: &Path, pkg: &Path, out: &Path) -> Result<Vec<(String, u64)>> {
    fs::create_dir_all(out.join("pkg"))?;
    let css = styles(&www.join("css"))?;
    let js = modules(&www.join("js"))?;
    let index = read(&www.join("index.html"))?;
    let index = swap(&index, "css/app.css", "app.css")?;
    let index = swap(&index, "js/main.js", "app.js")?;
    let mut done = Vec::new();
    let mut put = |name: &str, bytes: &[u8]| -> Result<()> {
        let file = out.join(name);
        fs::write(&file, bytes).with_context(|| format!("{} cannot be written", file.display()))?;
        done.push((name.to_owned(), bytes.len() as u64));
        Ok(())
    };
    put("index.html", index.as_bytes())?;
    put("app.css", css.as_bytes())?;
    put("app.js", js.as_bytes())?;
    for name in ["servent_web.js", "servent_web_bg.wasm"] {
        let file = pkg.join(name);
        let bytes = fs::read(&file)
            .with_context(|| format!("{} is missing: build the bindings", file.display()))?;
        put(&format!("pkg/{name}"), &bytes)?;
    }
    Ok(done)
}

/// The built page as one document that needs no server. The bindings become a
/// function, so that they can be instantiated afresh.
///
/// # Errors
/// When the page is not built or the bindings have another form.
pub(crate) fn single(page: &Path) -> Result<String> {
    let wasm = fs::read(page.join("pkg/servent_web_bg.wasm")).context("the page is not built")?;
    let (body, names, imports) = parts(&read(&page.join("pkg/servent_web.js"))?)?;
    if !imports.is_empty() {
        bail!("the bindings import other modules");
    }
    let script = format!(
        "globalThis.SERVENT_WASM = \"{}\";\nglobalThis.SERVENT_GLUE = () => {{\n{body}\nreturn {{ {} }};\n}};\n{}",
        BASE64.encode(&wasm),
        names.join(", "),
        read(&page.join("app.js"))?,
    );
    let index = read(&page.join("index.html"))?;
    let index: String = index
        .lines()
        .filter(|line| !line.contains("Content-Security-Policy"))
        .fold(String::new(), |all, line| all + line + "\n");
    let style = format!("<style>\n{}</style>", read(&page.join("app.css"))?);
    let index = swap(&index, "<link rel=\"stylesheet\" href=\"app.css\">", &style)?;
    let script = format!(
        "<script type=\"module\">\n{}</script>",
        script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    );
    swap(&index, "<script type=\"module\" src=\"app.js\"></script>", &script)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// Replaces what must be there.
fn swap(text: &str, from: &str, to: &str) -> Result<String> {
    if !text.contains(from) {
        bail!("the page does not name {from}");
    }
    Ok(text.replacen(from, to, 1))
}

/// `app.css` with its imports put in.
fn styles(css: &Path) -> Result<String> {
    let mut all = String::new();
    for line in read(&css.join("app.css"))?.lines() {
        match line.strip_prefix("@import \"").and_then(|l| l.strip_suffix("\";")) {
            Some(name) => all.push_str(&read(&css.join(name))?),
            None => all.push_str(line),
        }
        all.push('\n');
    }
    Ok(all)
}

/// All modules below `main.js`, each a function that is run once.
fn modules(js: &Path) -> Result<String> {
    let mut done = BTreeSet::new();
    let mut all = String::new();
    add(js, Path::new("main.js"), &mut done, &mut Vec::new(), &mut all)?;
    Ok(all)
}

fn add(
    js: &Path,
    module: &Path,
    done: &mut BTreeSet<PathBuf>,
    above: &mut Vec<PathBuf>,
    all: &mut String,
) -> Result<()> {
    if above.iter().any(|m| m == module) {
        bail!("{} imports itself in a circle", module.display());
    }
    if !done.insert(module.to_owned()) {
        return Ok(());
    }
    above.push(module.to_owned());
    let (body, names, imports) =
        parts(&read(&js.join(module))?).with_context(|| module.display().to_string())?;
    let mut heads = String::new();
    for (list, from) in imports {
        let from = beside(module, &from);
        add(js, &from, done, above, all)?;
        if !list.is_empty() {
            let _ =
                writeln!(heads, "const {{ {} }} = {};", list.replace(" as ", ": "), ident(&from));
        }
    }
    above.pop();
    let _ = writeln!(
        all,
        "const {} = (() => {{\n{heads}{}\nreturn {{ {} }};\n}})();",
        ident(module),
        body.trim(),
        names.join(", ")
    );
    Ok(())
}

/// `../dom.js` seen from `board/card.js` is `dom.js`.
fn beside(module: &Path, from: &str) -> PathBuf {
    let mut path = module.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(from).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// `board/card.js` → `$board_card`.
fn ident(module: &Path) -> String {
    let stem = module.with_extension("");
    let name: String = stem
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("${name}")
}

/// What a module does, the entries of the object it gives away, and what it
/// takes from where.
type Parts = (String, Vec<String>, Vec<(String, String)>);

fn parts(source: &str) -> Result<Parts> {
    let (mut body, mut names, mut imports) = (String::new(), Vec::new(), Vec::new());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("import ") {
            let mut whole = line.to_owned();
            while !whole.ends_with(';') {
                whole.push(' ');
                whole.push_str(lines.next().context("an import without end")?.trim());
            }
            imports.push(import(&whole)?);
        } else if let Some(rest) = line.strip_prefix("export ") {
            export(rest, &mut names, &mut body)?;
        } else {
            body.push_str(line);
            body.push('\n');
        }
    }
    Ok((body, names, imports))
}

/// `import { a, b as c } from './x.js';` → what, and from where.
fn import(line: &str) -> Result<(String, String)> {
    let quoted = line.split(['\'', '"']).nth(1).context("an import without a name")?;
    let list = match (line.split_once('{'), line.split_once('}')) {
        (Some((_, after)), Some((before, _))) => {
            let (list, _) = after.split_at(after.len() - (line.len() - before.len()));
            list.trim().trim_end_matches(',').to_owned()
        }
        (None, None) if line.starts_with("import '") || line.starts_with("import \"") => {
            String::new()
        }
        _ => bail!("this form of import is not used here: {line}"),
    };
    Ok((list, quoted.to_owned()))
}

/// What follows `export `: a declaration, or a list in braces.
fn export(rest: &str, names: &mut Vec<String>, body: &mut String) -> Result<()> {
    if let Some(list) = rest.strip_prefix('{') {
        let list = list.split('}').next().unwrap_or_default();
        for entry in list.split(',').map(str::trim).filter(|e| !e.is_empty()) {
            names.push(match entry.split_once(" as ") {
                Some((inner, outer)) => format!("{outer}: {inner}"),
                None => entry.to_owned(),
            });
        }
        return Ok(());
    }
    let after = ["async function ", "function ", "class ", "const "]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind))
        .with_context(|| format!("this form of export is not used here: {rest}"))?;
    let name: String =
        after.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$')).collect();
    names.push(name);
    body.push_str(rest);
    body.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_a_list_and_a_place() {
        let (list, from) = import("import { a, b as c, } from '../x.js';").unwrap();
        assert_eq!((list.as_str(), from.as_str()), ("a, b as c", "../x.js"));
        assert_eq!(import("import './x.js';").unwrap(), (String::new(), "./x.js".to_owned()));
        assert!(import("import * as x from './x.js';").is_err());
    }

    #[test]
    fn exports_are_gathered_and_their_declarations_kept() {
        let source =
            "export const A = 1;\nexport async function b() {}\nexport { c, d as default };\n";
        let (body, names, _) = parts(source).unwrap();
        assert_eq!(body, "const A = 1;\nasync function b() {}\n");
        assert_eq!(names, ["A", "b", "c", "default: d"]);
        assert!(parts("export default 1;\n").is_err());
    }

    #[test]
    fn a_module_is_found_from_where_it_is_named() {
        assert_eq!(beside(Path::new("board/card.js"), "../dom.js"), Path::new("dom.js"));
        assert_eq!(beside(Path::new("main.js"), "./board/card.js"), Path::new("board/card.js"));
        assert_eq!(ident(Path::new("board/queue-board.js")), "$board_queue_board");
    }

    #[test]
    fn a_circle_is_refused() {
        let dir = std::env::temp_dir().join(format!("servent-bundle-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("main.js"), "import { a } from './a.js';\n").unwrap();
        fs::write(dir.join("a.js"), "import './main.js';\nexport const a = 1;\n").unwrap();
        let refused = modules(&dir);
        fs::remove_dir_all(&dir).unwrap();
        assert!(refused.is_err());
    }
}
