//! A type of Rust in TypeScript, as serde writes it.

use anyhow::{Context as _, Result, bail};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Fields, GenericArgument, Lit, Meta, PathArguments, Token, Type};

use super::index::{Index, Item, Kind};

/// Names TypeScript and browsers use themselves.
pub(super) const OF_TYPESCRIPT: [&str; 19] = [
    "Array",
    "Error",
    "Event",
    "Exclude",
    "File",
    "K",
    "Map",
    "Node",
    "O",
    "Partial",
    "Pick",
    "Promise",
    "ReadableStream",
    "Record",
    "Result",
    "Selection",
    "Set",
    "T",
    "Uint8Array",
];

/// A type, written, and those it is made of.
pub(super) struct Written<'a> {
    pub(super) text: String,
    pub(super) needs: Vec<&'a Item>,
}

/// The declaration of a type.
pub(super) fn item<'a>(index: &'a Index, item: &'a Item) -> Result<Written<'a>> {
    let mut write = Write { index, item, needs: Vec::new(), generics: Vec::new() };
    let generics = match &item.of {
        Kind::Struct(of) => &of.generics,
        Kind::Enum(of) => &of.generics,
        Kind::Alias(of) => &of.generics,
    };
    let attributes = item.attributes();
    write.generics = generics.type_params().map(|param| param.ident.to_string()).collect();
    let name = index.called(item);
    let params = if write.generics.is_empty() {
        String::new()
    } else {
        format!("<{}>", write.generics.join(", "))
    };
    let serde = Serde::from_attributes(attributes)?;
    let body = match &item.of {
        Kind::Alias(of) => write.ty(&of.ty)?,
        _ if index.is_text(item) => String::from("string"),
        _ if !item.is_derived() => bail!("serde does not write it"),
        _ if serde.into.is_some() => {
            let into: Type = syn::parse_str(serde.into.as_deref().unwrap_or_default())?;
            write.ty(&into)?
        }
        Kind::Struct(of) => write.fields(&of.fields, &serde)?,
        Kind::Enum(of) => write.variants(of, &serde)?,
    };
    let text = format!("{}export type {name}{params} = {body};\n", docs(attributes, ""));
    Ok(Written { text, needs: write.needs })
}

/// What serde is told of a type, a variant or a field.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    tag: Option<String>,
    with: Option<String>,
    into: Option<String>,
    untagged: bool,
    flatten: bool,
    skip: bool,
    optional: bool,
}

impl Serde {
    fn from_attributes(attributes: &[Attribute]) -> Result<Self> {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
            let metas =
                attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            for meta in metas {
                serde.take(&meta)?;
            }
        }
        Ok(serde)
    }

    fn take(&mut self, meta: &Meta) -> Result<()> {
        let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
        let value = match meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        match name.as_str() {
            "rename" => self.rename = value,
            "rename_all" => self.rename_all = value,
            "tag" => self.tag = value,
            "with" | "serialize_with" => self.with = value,
            "into" => self.into = value,
            "untagged" => self.untagged = true,
            "flatten" => self.flatten = true,
            "skip" | "skip_serializing" => self.skip = true,
            "skip_serializing_if" => self.optional = true,
            // What only says how it is read, or who may be it.
            "default"
            | "deny_unknown_fields"
            | "from"
            | "try_from"
            | "bound"
            | "expecting"
            | "transparent"
            | "deserialize_with"
            | "alias" => {}
            other => bail!("serde's `{other}` is not understood"),
        }
        Ok(())
    }

    /// What something is called.
    fn called(&self, name: &str, style: Option<&str>) -> Result<String> {
        if let Some(own) = &self.rename {
            return Ok(own.clone());
        }
        Ok(match style {
            None => name.to_owned(),
            Some("lowercase") => name.to_lowercase(),
            Some("snake_case") => snake(name),
            Some(other) => bail!("names in {other} are not understood"),
        })
    }
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

struct Write<'a> {
    index: &'a Index,
    item: &'a Item,
    needs: Vec<&'a Item>,
    generics: Vec<String>,
}

impl Write<'_> {
    /// The body of a struct, or of a variant.
    fn fields(&mut self, fields: &Fields, of: &Serde) -> Result<String> {
        match fields {
            Fields::Unit => Ok(String::from("null")),
            Fields::Unnamed(list) if list.unnamed.len() == 1 => {
                let field = &list.unnamed[0];
                self.field(&field.ty, &Serde::from_attributes(&field.attrs)?)
            }
            Fields::Unnamed(list) => {
                let items: Result<Vec<_>> = list.unnamed.iter().map(|f| self.ty(&f.ty)).collect();
                Ok(format!("[{}]", items?.join(", ")))
            }
            Fields::Named(list) => {
                let (mut body, mut beside) = (String::new(), Vec::new());
                for field in &list.named {
                    let serde = Serde::from_attributes(&field.attrs)?;
                    if serde.skip {
                        continue;
                    }
                    let ident = field.ident.as_ref().map(ToString::to_string);
                    let ident = ident.context("a field without a name")?;
                    let ty = self.field(&field.ty, &serde)?;
                    if serde.flatten {
                        beside.push(ty);
                        continue;
                    }
                    let name =
                        serde.called(ident.trim_start_matches("r#"), of.rename_all.as_deref())?;
                    let sign = if serde.optional { "?" } else { "" };
                    body.push_str(&docs(&field.attrs, "  "));
                    body.push_str(&format!("  {name}{sign}: {ty};\n"));
                }
                beside.insert(0, format!("{{\n{body}}}"));
                Ok(beside.join(" & "))
            }
        }
    }

    fn field(&mut self, ty: &Type, serde: &Serde) -> Result<String> {
        match serde.with.as_deref() {
            None => self.ty(ty),
            Some("crate::seed") => Ok(String::from("number | string")),
            Some("crate::hex" | "crate::hex::number") => Ok(String::from("string")),
            Some(other) => bail!("what `{other}` writes is not known"),
        }
    }

    fn variants(&mut self, of: &syn::ItemEnum, serde: &Serde) -> Result<String> {
        // Those that stand under their name, in an object that has one entry.
        let (mut all, mut under) = (Vec::new(), String::new());
        for variant in &of.variants {
            let own = Serde::from_attributes(&variant.attrs)?;
            if own.skip {
                continue;
            }
            let name = own.called(&variant.ident.to_string(), serde.rename_all.as_deref())?;
            let body = self.fields(&variant.fields, &Serde::default())?;
            match (&serde.tag, &variant.fields) {
                _ if serde.untagged => all.push(body),
                (Some(tag), Fields::Unit) => all.push(format!("{{ {tag}: '{name}' }}")),
                (Some(tag), _) => all.push(format!("({{ {tag}: '{name}' }} & {body})")),
                (None, Fields::Unit) => all.push(format!("'{name}'")),
                (None, _) => {
                    under.push_str(&docs(&variant.attrs, "  "));
                    under.push_str(&format!("  {name}: {body};\n"));
                }
            }
        }
        if !under.is_empty() {
            all.push(format!("OneOf<{{\n{under}}}>"));
        }
        Ok(all.join(" | "))
    }

    fn ty(&mut self, ty: &Type) -> Result<String> {
        match ty {
            Type::Reference(of) => self.ty(&of.elem),
            Type::Paren(of) => self.ty(&of.elem),
            Type::Slice(of) => self.list(&of.elem),
            Type::Array(of) => self.list(&of.elem),
            Type::Tuple(of) if of.elems.is_empty() => Ok(String::from("null")),
            Type::Tuple(of) => {
                let items: Result<Vec<_>> = of.elems.iter().map(|ty| self.ty(ty)).collect();
                Ok(format!("[{}]", items?.join(", ")))
            }
            Type::Path(of) => self.path(&of.path),
            _ => bail!("a type of another kind"),
        }
    }

    fn list(&mut self, of: &Type) -> Result<String> {
        let of = self.ty(of)?;
        Ok(if of.contains([' ', '|']) { format!("({of})[]") } else { format!("{of}[]") })
    }

    fn path(&mut self, path: &syn::Path) -> Result<String> {
        let last = path.segments.last().context("an empty path")?;
        let mut of = Vec::new();
        if let PathArguments::AngleBracketed(list) = &last.arguments {
            of.extend(list.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            }));
        }
        let name = last.ident.to_string();
        Ok(match (name.as_str(), &of[..]) {
            (
                "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize"
                | "f64",
                [],
            ) => String::from("number"),
            ("bool", []) => String::from("boolean"),
            (
                "str" | "String" | "char" | "SocketAddr" | "SocketAddrV4" | "IpAddr" | "Ipv4Addr",
                [],
            ) => String::from("string"),
            ("Value", []) => String::from("any"),
            ("Option", [ty]) => format!("{} | null", self.ty(ty)?),
            ("Box" | "Rc" | "Arc" | "Cow", [ty]) => self.ty(ty)?,
            ("Vec" | "VecDeque" | "BTreeSet", [ty]) => self.list(ty)?,
            ("BTreeMap", [_, ty]) => format!("Record<string, {}>", self.ty(ty)?),
            (name, []) if self.generics.iter().any(|known| known == name) => name.to_owned(),
            _ => {
                let names: Vec<String> =
                    path.segments.iter().map(|part| part.ident.to_string()).collect();
                let meant = self.index.meant(self.item, &names)?;
                self.needs.push(meant);
                let args: Result<Vec<_>> = of.iter().map(|ty| self.ty(ty)).collect();
                let args = args?.join(", ");
                let name = self.index.called(meant);
                if args.is_empty() { name } else { format!("{name}<{args}>") }
            }
        })
    }
}

/// The documentation of something, as a comment.
fn docs(attributes: &[Attribute], indent: &str) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(text) = &literal.lit
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    let text = lines.split(String::is_empty).next().unwrap_or_default().join(" ");
    let text = text.replace("*/", "*\u{200b}/");
    if text.is_empty() { String::new() } else { format!("{indent}/** {text} */\n") }
}
