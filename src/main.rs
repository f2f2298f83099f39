//! `crew`: a task board in a directory, worked by people, scripts and teammates together.

mod arming;
mod claimants;
mod claiming;
mod cli;
mod command;
mod config;
mod context;
mod countdown;
mod exit;
mod health;
mod interrupt;
mod log;
mod machine;
mod mcp;
mod output;
mod progress;
mod prospects;
mod rehearsal;
mod rules;
mod run;
mod schema;
mod template;
mod terminal;
mod thinking;
mod view;

fn main() -> std::process::ExitCode {
    cli::run(std::env::args_os())
}
