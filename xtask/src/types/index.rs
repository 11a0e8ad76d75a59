//! What types there are, and which of them a name means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Token, UseTree, Visibility};

use super::write::OF_TYPESCRIPT;
use crate::paths::files;

/// Every struct, enum and alias that could cross.
#[derive(Default)]
pub(super) struct Index {
    items: Vec<Item>,
    /// Types that are written as their text, whatever they are made of.
    text: BTreeSet<String>,
    /// What the names of a module's `use` lines mean, by module.
    imports: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
}

/// A type and where it is.
pub(super) struct Item {
    /// The crate and its modules.
    module: Vec<String>,
    pub(super) of: Kind,
}

/// What it is.
pub(super) enum Kind {
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Alias(syn::ItemType),
}

impl Item {
    fn ident(&self) -> &Ident {
        match &self.of {
            Kind::Struct(item) => &item.ident,
            Kind::Enum(item) => &item.ident,
            Kind::Alias(item) => &item.ident,
        }
    }

    const fn visibility(&self) -> &Visibility {
        match &self.of {
            Kind::Struct(item) => &item.vis,
            Kind::Enum(item) => &item.vis,
            Kind::Alias(item) => &item.vis,
        }
    }

    /// What serde is told of it, among others.
    pub(super) fn attributes(&self) -> &[Attribute] {
        match &self.of {
            Kind::Struct(item) => &item.attrs,
            Kind::Enum(item) => &item.attrs,
            Kind::Alias(item) => &item.attrs,
        }
    }

    /// True when serde derives how it is written or read.
    pub(super) fn is_derived(&self) -> bool {
        let paths = |a: &Attribute| {
            a.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).ok()
        };
        let derives = self.attributes().iter().filter(|a| a.path().is_ident("derive"));
        derives
            .filter_map(paths)
            .flatten()
            .filter_map(|path| path.segments.into_iter().next_back())
            .any(|last| last.ident == "Serialize" || last.ident == "Deserialize")
    }

    /// Its name in Rust.
    pub(super) fn name(&self) -> String {
        self.ident().to_string()
    }

    /// Where it is.
    pub(super) fn place(&self) -> String {
        self.module.join("::")
    }

    /// What it is sorted and found by.
    pub(super) fn key(&self) -> (String, String) {
        (self.name(), self.place())
    }

    /// The protocol or folder it belongs to, as the beginning of a name.
    fn prefix(&self) -> String {
        let folder = self.module.get(1).map_or("", String::as_str);
        let mut letters = folder.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().collect::<String>() + letters.as_str()
        })
    }
}

impl Index {
    /// Takes the sources of a crate.
    pub(super) fn read(&mut self, src: &Path, folder: &str) -> Result<()> {
        for file in files(src)? {
            if file.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let below = file.strip_prefix(src)?.with_extension("");
            let mut module = vec![folder.to_owned()];
            module.extend(below.iter().map(|part| part.to_string_lossy().into_owned()));
            module.pop_if(|last| ["mod", "lib"].contains(&last.as_str()));
            let text = fs::read_to_string(&file)?;
            let syntax = syn::parse_file(&text).with_context(|| format!("{}", file.display()))?;
            let mut imports = BTreeMap::new();
            for item in syntax.items {
                let of = match item {
                    syn::Item::Struct(item) => Kind::Struct(item),
                    syn::Item::Enum(item) => Kind::Enum(item),
                    syn::Item::Type(item) => Kind::Alias(item),
                    syn::Item::Use(item) => {
                        import(&item.tree, Vec::new(), &module, &mut imports);
                        continue;
                    }
                    syn::Item::Macro(item) if item.mac.path.is_ident("serde_as_text") => {
                        let first = item.mac.tokens.into_iter().next();
                        self.text.extend(first.map(|name| name.to_string()));
                        continue;
                    }
                    _ => continue,
                };
                let item = Item { module: module.clone(), of };
                // What another crate cannot name cannot cross.
                if folder == "web" || matches!(item.visibility(), Visibility::Public(_)) {
                    self.items.push(item);
                }
            }
            self.imports.insert(module, imports);
        }
        Ok(())
    }

    /// True for a type that is written as its text.
    pub(super) fn is_text(&self, item: &Item) -> bool {
        self.text.contains(&item.name())
    }

    fn crosses(&self, item: &Item) -> bool {
        item.is_derived() || self.is_text(item) || matches!(item.of, Kind::Alias(_))
    }

    /// The type that the boundary calls so: its own name, or that of its
    /// protocol before it.
    pub(super) fn root(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| self.crosses(item) && self.called(item) == name)
    }

    /// What it is called in TypeScript.
    pub(super) fn called(&self, item: &Item) -> String {
        let name = item.name();
        let crosses = |other: &&Item| other.ident() == item.ident() && self.crosses(other);
        let alone = self.items.iter().filter(crosses).count() == 1;
        let own = item.module[0] == "web" && !OF_TYPESCRIPT.contains(&name.as_str());
        if own || (alone && !OF_TYPESCRIPT.contains(&name.as_str())) {
            return name;
        }
        let prefix = item.prefix();
        if name.starts_with(&prefix) { name } else { prefix + &name }
    }

    /// The type that a path means where `item` stands.
    pub(super) fn meant(&self, item: &Item, path: &[String]) -> Result<&Item> {
        let Some((name, before)) = path.split_last() else { bail!("an empty path") };
        if before.is_empty()
            && let Some(here) =
                self.items.iter().find(|i| i.module == item.module && i.name() == *name)
        {
            return Ok(here);
        }
        let imports = self.imports.get(&item.module);
        let whole = match imports.and_then(|known| known.get(&path[0])) {
            Some(start) => [start, &path[1..]].concat(),
            None => absolute(path, &item.module),
        };
        self.at(&whole).with_context(|| format!("{} is not found", path.join("::")))
    }

    /// The type at a path, in its module or in one below, whence it is given
    /// on.
    fn at(&self, path: &[String]) -> Option<&Item> {
        let (name, module) = path.split_last()?;
        let mut there = self
            .items
            .iter()
            .filter(|item| item.name() == *name && item.module.starts_with(module))
            .collect::<Vec<_>>();
        there.sort_by_key(|item| item.module.len());
        match there[..] {
            [one] => Some(one),
            [first, second, ..] if first.module.len() < second.module.len() => Some(first),
            _ => self.given_on(path),
        }
    }

    /// The type that a module takes from elsewhere and gives on.
    fn given_on(&self, path: &[String]) -> Option<&Item> {
        let (name, module) = path.split_last()?;
        let from = self.imports.get(module)?.get(name)?;
        if from == path { None } else { self.at(from) }
    }
}

/// Adds what a `use` tree names.
fn import(
    tree: &UseTree,
    before: Vec<String>,
    module: &[String],
    into: &mut BTreeMap<String, Vec<String>>,
) {
    let mut add = |local: &Ident, path: Vec<String>| {
        let path = absolute(&path, module);
        into.insert(local.to_string(), path);
    };
    match tree {
        UseTree::Path(path) => {
            let before = [before, vec![path.ident.to_string()]].concat();
            import(&path.tree, before, module, into);
        }
        UseTree::Name(one) if one.ident == "self" => {
            if let Some(last) = before.last().cloned() {
                add(&Ident::new(&last, one.ident.span()), before);
            }
        }
        UseTree::Name(one) => {
            let path = [before, vec![one.ident.to_string()]].concat();
            add(&one.ident, path);
        }
        UseTree::Rename(one) => {
            let path = [before, vec![one.ident.to_string()]].concat();
            add(&one.rename, path);
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                import(tree, before.clone(), module, into);
            }
        }
        UseTree::Glob(_) => {}
    }
}

/// A path from the crate's folder on.
fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let mut base: Vec<String> = Vec::new();
    let mut rest = path;
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "crate" => base = vec![module[0].clone()],
            "self" => base = module.to_vec(),
            "super" => {
                if base.is_empty() {
                    base = module.to_vec();
                }
                base.pop();
            }
            "servent_core" => base = vec![String::from("core")],
            "servent_sim" => base = vec![String::from("sim")],
            _ => {
                if base.is_empty() {
                    base = module.to_vec();
                }
                return [base, rest.to_vec()].concat();
            }
        }
        rest = more;
    }
    base
}
