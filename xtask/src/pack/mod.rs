//! Rewrites a module so that gzip finds more of it alike.
//!
//! Nothing it does changes what the module computes: functions and their
//! locals get other numbers, and loads and stores no longer hint at their
//! alignment, which no engine the page runs in looks at.

mod module;
mod order;

use anyhow::{Context as _, Result};

use self::module::{Function, Index, Module};

/// The module, rewritten.
///
/// # Errors
/// When it has what compiled Rust never had so far, or the outcome is not
/// valid.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut module = Module::read(bytes)?;
    for function in &mut module.functions {
        renumber_locals(function);
        function.unaligned();
    }
    let order = order::likeness(&module.functions);
    let packed = module.write(&order)?;
    wasmparser::validate(&packed).context("the rewritten module is not valid")?;
    Ok(packed)
}

/// Gives the locals used most the smallest numbers, type by type: then the
/// same numbers mean the same in more functions. Those never used go.
fn renumber_locals(function: &mut Function) {
    let params = function.params;
    let types: Vec<u8> =
        function.locals.iter().flat_map(|(n, kind)| vec![*kind; *n as usize]).collect();
    let mut uses = vec![0_u32; types.len()];
    for mark in &function.marks {
        if let Index::Local(i) = mark.index
            && let Some(i) = i.checked_sub(params)
        {
            uses[i as usize] += 1;
        }
    }
    let mut used: Vec<usize> = (0..types.len()).filter(|i| uses[*i] > 0).collect();
    used.sort_by_key(|i| (std::cmp::Reverse(types[*i]), std::cmp::Reverse(uses[*i])));
    let mut renamed = vec![0; types.len()];
    function.locals.clear();
    for (new, old) in used.into_iter().enumerate() {
        renamed[old] = params + new as u32;
        match function.locals.last_mut() {
            Some((n, kind)) if *kind == types[old] => *n += 1,
            _ => function.locals.push((1, types[old])),
        }
    }
    for mark in &mut function.marks {
        if let Index::Local(i) = &mut mark.index
            && let Some(own) = i.checked_sub(params)
        {
            *i = renamed[own as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions, of which the second, exported as `f`, calls the first
    /// and has three locals, the last of which it uses most.
    const MODULE: &[u8] = &[
        b'\0', b'a', b's', b'm', 1, 0, 0, 0, // the magic number and the version
        1, 5, 1, 0x60, 0, 1, 0x7f, // types: () -> i32
        3, 3, 2, 0, 0, // functions: two of it
        5, 3, 1, 0, 1, // a memory of one page
        7, 5, 1, 1, b'f', 0, 1, // exports: f, the second
        10, 30, 2, // code
        7, 0, 0x41, 8, 0x28, 2, 4, 0x0b, // i32.const 8, i32.load align=4 offset=4
        20, 1, 3, 0x7f, // three locals
        0x10, 0, 0x21, 2, 0x20, 2, 0x20, 2, 0x6a, // call 0, local.set 2, twice it
        0x21, 0, 0x20, 0, 0x20, 2, 0x6a, 0x0b, // local 0 is it, and the sum
    ];

    #[test]
    fn what_is_rewritten_does_the_same() {
        wasmparser::validate(MODULE).unwrap();
        let packed = pack(MODULE).unwrap();
        let module = Module::read(&packed).unwrap();
        // The larger one comes first, as it is like nothing before it.
        let [caller, called] = &module.functions[..] else { panic!("two functions") };
        assert_eq!(called.code, [0x41, 8, 0x28, 0, 4, 0x0b]);
        assert_eq!(caller.locals, [(2, 0x7f)], "the one never used is gone");
        let indices: Vec<Index> = caller.marks.iter().map(|m| m.index).collect();
        let [most, less] = [Index::Local(0), Index::Local(1)];
        assert_eq!(indices, [Index::Function(1), most, most, most, less, less, most]);
        assert!(packed.windows(7).any(|w| w == [7, 5, 1, 1, b'f', 0, 0]), "f is the first now");
        assert_eq!(pack(&packed).unwrap(), packed, "nothing is left to do");
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(pack(b"not a module").is_err());
        assert!(pack(&MODULE[..MODULE.len() - 1]).is_err());
    }
}
