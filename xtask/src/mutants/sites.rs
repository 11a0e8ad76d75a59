//! Where in a file each mutant is: the piece of code it changes, and what it
//! puts there.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context as _, Result};
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::list::{Genre, Mutant, Place};

/// A piece of code that mutants change.
#[derive(Debug)]
pub(super) struct Site {
    /// In bytes; empty for what is put between two pieces.
    pub(super) range: Range<usize>,
    /// What stands around it.
    pub(super) form: Form,
    /// Each mutant's number, and the expression it puts there.
    pub(super) ways: Vec<(u32, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An expression.
    Value,
    /// The beginning of a function's body; a mutant returns from it.
    Body,
    /// The end of a pattern without a guard; a mutant never matches.
    Arm,
    /// A guard; a mutant never matches.
    Guard,
    /// The name of a field that stands for its value, too.
    Field,
    /// The word `const` before a function, which could not look at the switch.
    Const,
}

/// What is known of one file.
#[derive(Debug, Default)]
pub(super) struct Sites {
    /// Outer ones first.
    pub(super) sites: Vec<Site>,
    /// Mutants of constants, and of what is no piece of its own.
    pub(super) left_out: Vec<u32>,
    /// Mutants that can be seen not to compile.
    pub(super) unviable: Vec<u32>,
}

/// Finds the sites of `mutants` (with their numbers) in `text`.
pub(super) fn find(text: &str, mutants: &[(u32, &Mutant)]) -> Result<Sites> {
    let file = syn::parse_file(text).context("not Rust")?;
    let mut wanted: BTreeMap<(Genre, Place), Vec<(u32, &Mutant)>> = BTreeMap::new();
    for (id, mutant) in mutants {
        wanted.entry((mutant.genre, mutant.span.start)).or_default().push((*id, mutant));
    }
    let mut finder = Finder { text, wanted, found: Sites::default() };
    finder.visit_file(&file);
    let Finder { wanted, mut found, .. } = finder;
    found.left_out.extend(wanted.into_values().flatten().map(|(id, _)| id));
    // A guard stands around the expression it is; both begin and end there.
    let order =
        |site: &Site| (site.range.start, usize::MAX - site.range.end, site.form == Form::Value);
    found.sites.sort_by_key(order);
    Ok(found)
}

struct Finder<'a> {
    text: &'a str,
    wanted: BTreeMap<(Genre, Place), Vec<(u32, &'a Mutant)>>,
    found: Sites,
}

impl<'a> Finder<'a> {
    fn take(&mut self, genre: Genre, span: Span) -> Vec<(u32, &'a Mutant)> {
        let start = span.start();
        let place = Place { line: start.line, column: start.column + 1 };
        self.wanted.remove(&(genre, place)).unwrap_or_default()
    }

    fn source(&self, span: Span) -> &'a str {
        &self.text[span.byte_range()]
    }

    fn site(&mut self, range: Range<usize>, form: Form, ways: Vec<(u32, String)>) {
        if !ways.is_empty() {
            self.found.sites.push(Site { range, form, ways });
        }
    }

    fn function(&mut self, sig: &syn::Signature, block: &syn::Block) {
        if let Some(word) = &sig.constness {
            let range = word.span.byte_range();
            self.found.sites.push(Site { range, form: Form::Const, ways: Vec::new() });
        }
        let Some(first) = block.stmts.first() else { return };
        let mutants = self.take(Genre::FnValue, first.span());
        let mut ways = Vec::new();
        for (id, mutant) in mutants {
            // Core has no std.
            if mutant.replacement.contains("::std::") {
                self.found.unviable.push(id);
            } else {
                ways.push((id, mutant.replacement.clone()));
            }
        }
        let start = block.brace_token.span.open().byte_range().end;
        self.site(start..start, Form::Body, ways);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        let mutants = self.take(Genre::BinaryOperator, expr.op.span());
        if binds(&expr.left) || binds(&expr.right) {
            // `if let … && …`: `let` knows no other operator.
            self.found.unviable.extend(mutants.iter().map(|(id, _)| *id));
        } else {
            let (left, right) = (self.source(expr.left.span()), self.source(expr.right.span()));
            let way =
                |(id, m): (u32, &Mutant)| (id, format!("({left}) {} ({right})", m.replacement));
            let ways = mutants.into_iter().map(way).collect();
            self.site(expr.span().byte_range(), Form::Value, ways);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        let mutants = self.take(Genre::UnaryOperator, expr.op.span());
        let without = self.source(expr.expr.span());
        let way = |(id, m): (u32, &Mutant)| (id, format!("{}({without})", m.replacement));
        let ways = mutants.into_iter().map(way).collect();
        self.site(expr.span().byte_range(), Form::Value, ways);
        visit::visit_expr_unary(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let gone = self.take(Genre::MatchArm, arm.span());
        let gone = gone.into_iter().map(|(id, _)| (id, "false".to_owned())).collect();
        if let Some((_, guard)) = &arm.guard {
            let range = guard.span().byte_range();
            self.site(range.clone(), Form::Guard, gone);
            let always = self.take(Genre::MatchArmGuard, guard.span());
            let ways = always.into_iter().map(|(id, m)| (id, m.replacement.clone())).collect();
            self.site(range, Form::Value, ways);
        } else {
            let end = arm.pat.span().byte_range().end;
            self.site(end..end, Form::Arm, gone);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        for field in &expr.fields {
            let mutants = self.take(Genre::StructField, field.span());
            let (Some(rest), syn::Member::Named(name)) = (&expr.rest, &field.member) else {
                continue;
            };
            let rest = self.source(rest.span());
            let rest = match rest {
                "Default::default()" | "Self::default()" => {
                    format!("<{} as Default>::default()", self.source(expr.path.span()))
                }
                _ => rest.to_owned(),
            };
            let ways = mutants.iter().map(|(id, _)| (*id, format!("({rest}).{name}"))).collect();
            let form = if field.colon_token.is_some() { Form::Value } else { Form::Field };
            self.site(field.expr.span().byte_range(), form, ways);
        }
        visit::visit_expr_struct(self, expr);
    }
}

/// True for `let … = …`, alone or as one of several conditions.
fn binds(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}
