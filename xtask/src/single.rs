//! The page as one document that needs no server.
//!
//! A page from `file://` may load no file beside it. So every style sheet and
//! every script stands in the document itself, as a `data:` address: the
//! scripts in the very import map by which the page finds them on a server.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use data_encoding::BASE64;
use serde_json::{Map, Value};

use crate::paths::files;
use crate::wasm;

/// The page as one document.
///
/// # Errors
/// When the bindings are not built, or the index has another form.
pub(crate) fn single(www: &Path) -> Result<String> {
    let index = document(&read(&www.join("index.html"))?, www)?;
    let module = fs::read(wasm::module()).context("the module is not built")?;
    let module = BASE64.encode(&module);
    let tag = format!("<script type=\"text/plain\" id=\"servent-wasm\">{module}</script>\n</head>");
    swap(&index, "</head>", &tag)
}

/// The index with the files in it.
fn document(index: &str, www: &Path) -> Result<String> {
    // The policy is about what comes from a server; here nothing does.
    let mut index = without_line(index, "Content-Security-Policy")?;
    let map = import_map(&index)?;
    index = swap(&index, map, &Value::Object(carried(www, map)?).to_string())?;
    for (attribute, ending, kind) in
        [("href", ".css", "text/css"), ("src", ".js", "text/javascript")]
    {
        index = inlined(&index, attribute, ending, kind, www)?;
    }
    Ok(index)
}

/// What stands in the import map of the page.
fn import_map(index: &str) -> Result<&str> {
    let (_, rest) =
        index.split_once("<script type=\"importmap\">").context("the page has no import map")?;
    let (map, _) = rest.split_once("</script>").context("the import map has no end")?;
    Ok(map)
}

/// The same import map with `data:` addresses, a folder's entry file by file.
fn carried(www: &Path, map: &str) -> Result<Map<String, Value>> {
    let map: Value = serde_json::from_str(map).context("the import map is no JSON")?;
    let imports = map["imports"].as_object().context("the import map names no imports")?;
    let mut all = Map::new();
    for (name, place) in imports {
        let place = www.join(place.as_str().unwrap_or_default());
        if !name.ends_with('/') {
            all.insert(name.clone(), data(&place, "text/javascript")?.into());
            continue;
        }
        for file in files(&place)? {
            let below = file.strip_prefix(&place)?.to_string_lossy().replace('\\', "/");
            if below.ends_with(".js") {
                all.insert(format!("{name}{below}"), data(&file, "text/javascript")?.into());
            }
        }
    }
    Ok(Map::from_iter([(String::from("imports"), Value::Object(all))]))
}

/// The files of one kind that an attribute names, as `data:` addresses.
fn inlined(index: &str, attribute: &str, ending: &str, kind: &str, www: &Path) -> Result<String> {
    let open = format!(" {attribute}=\"");
    let mut pieces = index.split(&open);
    let mut out = String::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (place, rest) = piece.split_once('"').context("an attribute without an end")?;
        let here = place.ends_with(ending).then(|| data(&www.join(place), kind)).transpose()?;
        out.push_str(&[&open, here.as_deref().unwrap_or(place), "\"", rest].concat());
    }
    Ok(out)
}

fn data(file: &Path, kind: &str) -> Result<String> {
    Ok(format!("data:{kind};base64,{}", BASE64.encode(read(file)?.as_bytes())))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// Replaces what must be there.
fn swap(text: &str, from: &str, to: &str) -> Result<String> {
    if !text.contains(from) {
        bail!("the page does not say {from}");
    }
    Ok(text.replacen(from, to, 1))
}

fn without_line(text: &str, words: &str) -> Result<String> {
    let kept: String = text.split_inclusive('\n').filter(|line| !line.contains(words)).collect();
    if kept.len() == text.len() {
        bail!("the page does not say {words}");
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r##"<head>
<meta http-equiv="Content-Security-Policy" content="x">
<link rel="icon" href="data:image/svg+xml,x">
<link rel="stylesheet" href="css/a.css">
<script type="importmap">{"imports": {"#lab/": "./js/", "#servent": "./pkg/servent.js"}}</script>
<script type="module" src="js/main.js"></script>
</head>
"##;

    #[test]
    fn every_file_stands_in_the_document_under_the_name_the_map_gives_it() {
        let dir = std::env::temp_dir().join(format!("servent-single-{}", std::process::id()));
        for (name, text) in [
            ("css/a.css", "a {}"),
            ("js/main.js", "import '#lab/more/b.js';"),
            ("js/more/b.js", "b();"),
            ("js/types.d.ts", "no script"),
            ("pkg/servent.js", "glue();"),
        ] {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let index = document(INDEX, &dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let data =
            |kind, text: &str| format!("data:{kind};base64,{}", BASE64.encode(text.as_bytes()));
        let js = |text| data("text/javascript", text);
        let imports: Value = serde_json::from_str(import_map(&index).unwrap()).unwrap();
        let names = &imports["imports"];
        assert_eq!(names["#lab/main.js"], js("import '#lab/more/b.js';"));
        assert_eq!(names["#lab/more/b.js"], js("b();"));
        assert_eq!(names["#servent"], js("glue();"));
        assert_eq!(names.as_object().unwrap().len(), 3);
        assert!(index.contains(&format!("href=\"{}\"", data("text/css", "a {}"))));
        assert!(index.contains(&format!("src=\"{}\"", js("import '#lab/more/b.js';"))));
        assert!(index.contains("href=\"data:image/svg+xml,x\"") && !index.contains("Policy"));
    }

    #[test]
    fn a_page_of_another_form_is_refused() {
        assert!(document("<head></head>", Path::new(".")).is_err());
    }
}
