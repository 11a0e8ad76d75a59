//! Many modules of JavaScript as one script.
//!
//! The modules of `www/js` keep to a plain form: `import { a, b as c } from
//! './x.js';` and `import './x.js';` at the start of a line, `export` before a
//! function, class or const, no cycles. So each becomes a function that is run
//! once, in order of need, and nothing has to understand JavaScript.
//!
//! What is asked for with `() => import('./x/y.js')` becomes a script of its own,
//! named after the folder. It is given the modules that the first one has.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::read;

/// The page's scripts.
pub(super) struct Scripts {
    /// What every visitor loads.
    pub(super) main: String,
    /// What is loaded when it is wanted, by name.
    pub(super) chunks: Vec<(String, String)>,
}

/// All modules below `main.js`, each a function that is run once.
pub(super) fn join(js: &Path) -> Result<Scripts> {
    let mut first = Script::new(js, BTreeSet::new());
    first.add(Path::new("main.js"))?;
    let (mut main, shared) = (first.text, first.done);
    let mut chunks = Vec::new();
    for (root, call) in first.wanted {
        let name = chunk(&root);
        let mut script = Script::new(js, shared.clone());
        script.add(&root)?;
        if !script.wanted.is_empty() {
            bail!("{name} asks for more scripts; only main.js may");
        }
        let given = script.given.iter().map(|m| ident(m)).collect::<Vec<_>>().join(", ");
        main = main
            .replace(&call, &format!("import('./{name}').then((m) => m.default({{ {given} }}))"));
        let text = script.text;
        let root = ident(&root);
        chunks.push((
            name,
            format!("export default ({{ {given} }}) => {{\n{text}return {root};\n}};\n"),
        ));
    }
    Ok(Scripts { main, chunks })
}

/// `ladder/view.js` → `ladder.js`.
fn chunk(root: &Path) -> String {
    let folder = root.parent().and_then(Path::file_name).or(root.file_stem());
    format!("{}.js", folder.unwrap_or_default().to_string_lossy())
}

/// One script while it is put together.
struct Script<'a> {
    js: &'a Path,
    /// Modules it has, or is given.
    done: BTreeSet<PathBuf>,
    /// What is there before it.
    shared: BTreeSet<PathBuf>,
    /// What it uses of that.
    given: BTreeSet<PathBuf>,
    /// Modules on the way from the first to the one at work.
    above: Vec<PathBuf>,
    /// Modules that are asked for later, and by which words.
    wanted: Vec<(PathBuf, String)>,
    text: String,
}

impl<'a> Script<'a> {
    fn new(js: &'a Path, shared: BTreeSet<PathBuf>) -> Self {
        Self {
            js,
            done: shared.clone(),
            shared,
            given: BTreeSet::new(),
            above: Vec::new(),
            wanted: Vec::new(),
            text: String::new(),
        }
    }

    fn add(&mut self, module: &Path) -> Result<()> {
        if self.above.iter().any(|m| m == module) {
            bail!("{} imports itself in a circle", module.display());
        }
        if self.shared.contains(module) {
            self.given.insert(module.to_owned());
        }
        if !self.done.insert(module.to_owned()) {
            return Ok(());
        }
        self.above.push(module.to_owned());
        let (body, names, imports) =
            parts(&read(&self.js.join(module))?).with_context(|| module.display().to_string())?;
        let mut heads = String::new();
        for (list, from) in imports {
            let from = beside(module, &from);
            self.add(&from)?;
            if !list.is_empty() {
                let list = list.replace(" as ", ": ");
                let _ = writeln!(heads, "const {{ {list} }} = {};", ident(&from));
            }
        }
        for call in later(&body) {
            let from = beside(module, call.split('\'').nth(1).unwrap_or_default());
            self.wanted.push((from, call.to_owned()));
        }
        self.above.pop();
        let _ = writeln!(
            self.text,
            "const {} = (() => {{\n{heads}{}\nreturn {{ {} }};\n}})();",
            ident(module),
            body.trim(),
            names.join(", ")
        );
        Ok(())
    }
}

/// Every `=> import('./…')` of a module; in a comment it names a type.
fn later(body: &str) -> Vec<&str> {
    const ARROW: &str = "=> ";
    let starts = body.match_indices("=> import('./").map(|(at, _)| at + ARROW.len());
    starts.filter_map(|at| body[at..].find(')').map(|end| &body[at..=at + end])).collect()
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
pub(super) type Parts = (String, Vec<String>, Vec<(String, String)>);

pub(super) fn parts(source: &str) -> Result<Parts> {
    let source = bare(source);
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

/// The source without its comments: those between `/**` and `*/`, of which no
/// text of the page holds any, and lines that begin with `//`.
pub(super) fn bare(source: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(source.len()), source);
    while let Some((before, after)) = rest.split_once("/**") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    let kept = out.lines().filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with("//"));
    kept.fold(String::new(), |all, line| all + line.trim_end() + "\n")
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
    if name.is_empty() {
        bail!("this form of export is not used here: {rest}");
    }
    names.push(name);
    body.push_str(rest);
    body.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_import_is_a_list_and_a_place() {
        let (list, from) = import("import { a, b as c, } from '../x.js';").unwrap();
        assert_eq!((list.as_str(), from.as_str()), ("a, b as c", "../x.js"));
        assert_eq!(import("import './x.js';").unwrap(), (String::new(), "./x.js".to_owned()));
        assert!(import("import * as x from './x.js';").is_err());
    }

    #[test]
    fn an_export_gives_a_name_or_is_refused() {
        let (_, names, _) = parts("export const A = 1;\n").unwrap();
        assert_eq!(names, ["A"]);
        assert!(parts("export const [A, B] = [1, 2];\n").is_err());
    }

    #[test]
    fn comments_are_left_out() {
        let source = "/**\n * What it is.\n */\n// why\nconst a = /** @type {B} */ ('c // d');\n\n  /** e */ f();\n";
        assert_eq!(bare(source), "const a =  ('c // d');\n   f();\n");
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

    /// Joins modules that are written to a folder of their own.
    fn joined(name: &str, files: &[(&str, &str)]) -> Result<Scripts> {
        let dir = std::env::temp_dir().join(format!("servent-{name}-{}", std::process::id()));
        for (file, text) in files {
            let file = dir.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let scripts = join(&dir);
        fs::remove_dir_all(&dir).unwrap();
        scripts
    }

    #[test]
    fn a_circle_is_refused() {
        let files = [
            ("main.js", "import { a } from './a.js';\n"),
            ("a.js", "import './main.js';\nexport const a = 1;\n"),
        ];
        assert!(joined("circle", &files).is_err());
    }

    #[test]
    fn what_is_wanted_later_is_a_script_that_is_given_what_is_there() {
        let files = [
            (
                "main.js",
                "import { a } from './a.js';\nexport const go = () => import('./more/view.js');\n",
            ),
            ("a.js", "export const a = 1;\n"),
            (
                "more/view.js",
                "import { a } from '../a.js';\nimport { b } from './b.js';\nexport const c = a + b;\n",
            ),
            ("more/b.js", "export const b = 2;\n"),
        ];
        let Scripts { main, chunks } = joined("later", &files).unwrap();
        assert!(main.contains("import('./more.js').then((m) => m.default({ $a }))"), "{main}");
        assert!(!main.contains("$more"), "{main}");
        let (name, text) = &chunks[0];
        assert_eq!(name, "more.js");
        assert!(text.starts_with("export default ({ $a }) => {"), "{text}");
        assert!(text.contains("const $more_b") && !text.contains("const $a ="), "{text}");
        assert!(text.ends_with("return $more_view;\n};\n"), "{text}");
    }
}
