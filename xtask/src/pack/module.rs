//! A module taken apart as far as renumbering needs it, and put together again.

use anyhow::{Context as _, Result, bail, ensure};
use wasmparser::{
    BinaryReader, CompositeInnerType, Element, ElementItems, ElementKind, Encoding, Export,
    ExternalKind, FunctionBody, Operator, Parser, Payload, TypeRef,
};

/// The numbers of sections that name functions.
const FUNCTIONS: u8 = 3;
const EXPORTS: u8 = 7;
const START: u8 = 8;
const ELEMENTS: u8 = 9;
const CODE: u8 = 10;

/// What is numbered anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    Function(u32),
    Local(u32),
}

/// Where in the code such a number stands.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) index: Index,
}

/// A function that is not imported.
#[derive(Debug)]
pub(super) struct Function {
    kind: u32,
    /// How many parameters it has; locals are counted from there.
    pub(super) params: u32,
    /// So many locals of a type, and so on.
    pub(super) locals: Vec<(u32, u8)>,
    /// Instructions.
    pub(super) code: Vec<u8>,
    pub(super) marks: Vec<Mark>,
    /// Where the alignments of loads and stores stand.
    alignments: Vec<usize>,
}

impl Function {
    fn read(kind: u32, params: u32, body: &FunctionBody<'_>) -> Result<Self> {
        let mut locals = Vec::new();
        let mut reader = body.get_binary_reader();
        for _ in 0..reader.read_var_u32()? {
            let n = reader.read_var_u32()?;
            let kind = reader.read_u8()?;
            ensure!(matches!(kind, 0x6f..=0x7f), "a local of an unknown type");
            locals.push((n, kind));
        }
        let start = reader.original_position();
        let code = reader.read_bytes(reader.bytes_remaining())?.to_vec();
        let (mut marks, mut alignments) = (Vec::new(), Vec::new());
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let from = operators.original_position() - start;
            let index = match operators.read()? {
                Operator::Call { function_index } | Operator::RefFunc { function_index } => {
                    Some(Index::Function(function_index))
                }
                Operator::LocalGet { local_index }
                | Operator::LocalSet { local_index }
                | Operator::LocalTee { local_index } => Some(Index::Local(local_index)),
                Operator::ReturnCall { .. } => bail!("a tail call"),
                _ => None,
            };
            if let Some(index) = index {
                let to = operators.original_position() - start;
                marks.push(Mark { from: from + 1, to, index });
            } else if matches!(code[from], 0x28..=0x3e) {
                alignments.push(from + 1);
            }
        }
        Ok(Self { kind, params, locals, code, marks, alignments })
    }

    /// Its loads and stores promise nothing about their addresses.
    pub(super) fn unaligned(&mut self) {
        for at in &self.alignments {
            // Only a number below this is an alignment and nothing else.
            if self.code[*at] < 0x40 {
                self.code[*at] = 0;
            }
        }
    }

    fn write(&self, rename: &impl Fn(u32) -> u32) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, self.locals.len() as u32);
        for (n, kind) in &self.locals {
            number(&mut out, *n);
            out.push(*kind);
        }
        let mut at = 0;
        for mark in &self.marks {
            out.extend(&self.code[at..mark.from]);
            number(
                &mut out,
                match mark.index {
                    Index::Function(i) => rename(i),
                    Index::Local(i) => i,
                },
            );
            at = mark.to;
        }
        out.extend(&self.code[at..]);
        out
    }
}

/// A module.
pub(super) struct Module {
    /// All sections but those of names and notes, in order.
    sections: Vec<(u8, Vec<u8>)>,
    imported: u32,
    pub(super) functions: Vec<Function>,
    exports: Vec<(String, u8, u32)>,
    /// For each table's piece: where it goes, and what is in it.
    elements: Vec<(Vec<u8>, Vec<u32>)>,
}

impl Module {
    /// Takes a module apart.
    ///
    /// # Errors
    /// When it is none, or has what is not provided for.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut module = Self {
            sections: Vec::new(),
            imported: 0,
            functions: Vec::new(),
            exports: Vec::new(),
            elements: Vec::new(),
        };
        let (mut params, mut kinds) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.context("not a module")?;
            if let Some((id, range)) = payload.as_section()
                && id != 0
            {
                let section = bytes.get(range).context("a module that was cut short")?;
                module.sections.push((id, section.to_vec()));
            }
            match payload {
                Payload::Version { encoding, .. } => ensure!(encoding == Encoding::Module),
                Payload::TypeSection(types) => {
                    for group in types {
                        for kind in group?.into_types() {
                            let CompositeInnerType::Func(f) = kind.composite_type.inner else {
                                bail!("a type that is no function's");
                            };
                            params.push(f.params().len() as u32);
                        }
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        module.imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::FunctionSection(functions) => {
                    kinds = functions.into_iter().collect::<Result<Vec<u32>, _>>()?;
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        module.exports.push(read_export(export?)?);
                    }
                }
                Payload::ElementSection(elements) => {
                    for element in elements {
                        module.elements.push(read_element(element?)?);
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let kind = *kinds.get(module.functions.len()).context("code of no function")?;
                    let params = *params.get(kind as usize).context("a function of no type")?;
                    module.functions.push(Function::read(kind, params, &body)?);
                }
                _ => {}
            }
        }
        Ok(module)
    }

    /// Puts it together with its functions in that order.
    ///
    /// # Errors
    /// When a section is broken.
    pub(super) fn write(&self, order: &[usize]) -> Result<Vec<u8>> {
        let mut places = vec![0; order.len()];
        for (place, function) in order.iter().enumerate() {
            places[*function] = self.imported + place as u32;
        }
        let rename = |i: u32| i.checked_sub(self.imported).map_or(i, |i| places[i as usize]);
        let functions = || order.iter().map(|i| &self.functions[*i]);
        let mut out = b"\0asm\x01\0\0\0".to_vec();
        for (id, old) in &self.sections {
            let mut new = Vec::new();
            match *id {
                FUNCTIONS => {
                    number(&mut new, order.len() as u32);
                    functions().for_each(|f| number(&mut new, f.kind));
                }
                EXPORTS => {
                    number(&mut new, self.exports.len() as u32);
                    for (name, kind, index) in &self.exports {
                        number(&mut new, name.len() as u32);
                        new.extend(name.bytes());
                        new.push(*kind);
                        number(&mut new, if *kind == 0 { rename(*index) } else { *index });
                    }
                }
                START => number(&mut new, rename(BinaryReader::new(old, 0).read_var_u32()?)),
                ELEMENTS => {
                    number(&mut new, self.elements.len() as u32);
                    for (place, list) in &self.elements {
                        number(&mut new, 0);
                        new.extend(place);
                        number(&mut new, list.len() as u32);
                        list.iter().for_each(|i| number(&mut new, rename(*i)));
                    }
                }
                CODE => {
                    number(&mut new, order.len() as u32);
                    for function in functions() {
                        let body = function.write(&rename);
                        number(&mut new, body.len() as u32);
                        new.extend(body);
                    }
                }
                _ => new.clone_from(old),
            }
            out.push(*id);
            number(&mut out, new.len() as u32);
            out.extend(new);
        }
        Ok(out)
    }
}

/// The name of an export, the number of its kind, and what is exported.
fn read_export(export: Export<'_>) -> Result<(String, u8, u32)> {
    let kind = match export.kind {
        ExternalKind::Func => 0,
        ExternalKind::Table => 1,
        ExternalKind::Memory => 2,
        ExternalKind::Global => 3,
        _ => bail!("an export of an unknown kind"),
    };
    Ok((export.name.to_owned(), kind, export.index))
}

/// Where a list of functions goes, and the functions.
fn read_element(element: Element<'_>) -> Result<(Vec<u8>, Vec<u32>)> {
    let ElementKind::Active { table_index: None, offset_expr } = element.kind else {
        bail!("a list of functions outside the first table");
    };
    let ElementItems::Functions(functions) = element.items else {
        bail!("a list of something else than functions");
    };
    let mut place = offset_expr.get_binary_reader();
    let place = place.read_bytes(place.bytes_remaining())?.to_vec();
    Ok((place, functions.into_iter().collect::<Result<_, _>>()?))
}

/// Writes a number in the form of LEB128.
fn number(out: &mut Vec<u8>, mut n: u32) {
    while n > 0x7f {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}
