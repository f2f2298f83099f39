//! Links gcc's unwinder into the command. As a library of its own it is found, mapped and prepared anew at every start,
//! which is a tenth of what a short command takes; other libraries are on every system and stay outside.

#![allow(clippy::disallowed_methods)] // Not the program, but what builds it.

use std::path::Path;
use std::process::Command;

const UNWINDER: &str = "libgcc_eh.a";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let told = |name: &str| std::env::var(name).unwrap_or_default();
    let for_this_system = told("CARGO_CFG_TARGET_OS") == "linux" && told("CARGO_CFG_TARGET_ENV") == "gnu" && told("TARGET") == told("HOST");
    if !for_this_system {
        return;
    }
    // A compiler that does not know it names it without a directory; then the command is linked as usual.
    let asked = Command::new("cc").arg(format!("-print-file-name={UNWINDER}")).output();
    let path = asked.ok().filter(|asked| asked.status.success()).and_then(|asked| String::from_utf8(asked.stdout).ok());
    if let Some(directory) = path.as_deref().map(str::trim).and_then(|path| Path::new(path).parent()).filter(|directory| directory.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", directory.display());
        println!("cargo::rustc-link-lib=static=gcc_eh");
    }
}
