//! The tools of MCP servers that the config names.
//!
//! Each server is one process for the whole project, whoever uses it: a [`host`] has them, a process of its own, which the
//! first teammate starts that wants a tool. Teammates speak to it over a socket. A server is started when it is first
//! wanted, started again when it has died, and ended with the run, or when no teammate is there any more.
//!
//! A server that has a capability is for teammates that have it too; while a notice holds that, no call is run.
//!
//! What a server says (its tools' names, what they do, what they answer) is data. What it may see of crew's environment is
//! what every command may see, and what the config names for it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use board::place::Place;
use board::run::Run;
use serde_json::Value;

use super::{Access, Answer, Tool, side_by_side};
use crate::children::Children;
use crate::profile::Profile;

mod holding;
pub mod host;
mod link;
mod meeting;
mod process;
mod server;
pub mod settings;
mod wire;
mod words;

pub use link::HostCommand;
pub use meeting::end;

use link::Link;
use settings::Settings;
use wire::{Got, Offered, Wish};

/// The servers that one teammate may use.
pub struct Servers {
    settings: Vec<Settings>,
    link: Rc<Link>,
    run: Arc<Run>,
    listed: RefCell<BTreeMap<String, Vec<Offered>>>,
    /// What its log was told of them.
    told: RefCell<BTreeSet<String>>,
}

impl Servers {
    /// Those of a config that are for a teammate. `host` starts their process, which becomes one of `children` that is
    /// nobody's to end.
    pub fn of(place: &Place, profile: &Profile, all: Vec<Settings>, host: HostCommand, children: &Children) -> board::Result<Servers> {
        let run = Arc::new(Run::of(place)?);
        let may = |server: &Settings| server.capability.as_ref().is_none_or(|capability| profile.capabilities.contains(capability));
        let link = Rc::new(Link::of(Arc::clone(run.dir()), host, children.clone()));
        Ok(Servers { settings: all.into_iter().filter(may).collect(), link, run, listed: RefCell::default(), told: RefCell::default() })
    }

    /// Their tools. What a server cannot tell is missing, and this process's log says why, once.
    ///
    /// A server is asked once, and again when it has begun anew.
    pub async fn tools(&self) -> Vec<Tool> {
        if self.settings.is_empty() {
            return Vec::new();
        }
        match self.link.take_changed().await {
            Some(changed) => self.listed.borrow_mut().retain(|name, _| !changed.contains(name)),
            None => self.listed.borrow_mut().clear(),
        }
        let unlisted: Vec<Settings> = self.settings.iter().filter(|server| !self.listed.borrow().contains_key(&server.name)).cloned().collect();
        type Asking<'a> = Pin<Box<dyn Future<Output = Result<Got, String>> + 'a>>;
        let asking: Vec<Asking<'_>> = unlisted.iter().map(|server| Box::pin(self.link.ask(Wish::List { server: server.clone() })) as Asking<'_>).collect();
        side_by_side::each(asking, |place, got| match (got, unlisted.get(place)) {
            (Ok(Got::Tools(offered)), Some(server)) => drop(self.listed.borrow_mut().insert(server.name.clone(), offered)),
            (Err(why), _) => self.tell(&why),
            (Ok(_), _) => {}
        })
        .await;
        let listed = self.listed.borrow();
        let mut taken = BTreeSet::new();
        let mut tools = Vec::new();
        for server in &self.settings {
            let Some(offered) = listed.get(&server.name) else { continue };
            let (definitions, left_out) = words::definitions(&server.name, offered, &mut taken);
            left_out.iter().for_each(|what| self.tell(&format!("the MCP server {}: left out is {what}", server.name)));
            tools.extend(definitions.into_iter().map(|(definition, offered)| self.tool(server, definition, offered)));
        }
        tools
    }

    fn tool(&self, server: &Settings, definition: crate::provider::Tool, offered: Offered) -> Tool {
        let access = if offered.only_reads { Access::Reads } else { Access::Acts };
        let (link, run, server) = (Rc::clone(&self.link), Arc::clone(&self.run), server.clone());
        Tool::of_server(definition, access, move |input| {
            let (link, run, server, tool) = (Rc::clone(&link), Arc::clone(&run), server.clone(), offered.name.clone());
            async move {
                if let Some(refused) = held(&run, &server) {
                    return Answer::failed(refused);
                }
                let Value::Object(arguments) = input else { return Answer::failed("This was not run: its arguments are no object.") };
                match link.ask(Wish::Call { server, tool, arguments }).await {
                    Ok(Got::Result { text, is_error }) => Answer::Result { text, is_error },
                    Ok(Got::Tools(_)) => Answer::failed("The server was asked for something else."),
                    Err(why) => Answer::failed(why),
                }
            }
        })
    }

    fn tell(&self, what: &str) {
        if self.told.borrow_mut().insert(what.to_owned()) {
            tracing::warn!("{what}");
        }
    }
}

/// Why no call of a server is run at this moment.
fn held(run: &Run, server: &Settings) -> Option<String> {
    let capability = server.capability.as_deref()?;
    match run.asks.all() {
        Ok(asks) => holding::holder(&asks, capability).map(|ask| holding::refusal(ask, capability)),
        Err(e) => Some(format!("This was not run: whether the {capability} is held cannot be read: {e}")),
    }
}

/// Whether a notice holds anything at this moment.
pub fn is_any_held(run: &Run) -> bool {
    run.asks.all().is_ok_and(|asks| asks.iter().any(board::run::Ask::is_holding))
}

/// Where a program is that a command names, looked up as its start does; `None`: nowhere.
pub fn found(program: &str, directory: &Path, path: &std::ffi::OsStr) -> Option<std::path::PathBuf> {
    let can_be = |file: &std::path::PathBuf| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    match program.contains('/') {
        true => Some(directory.join(program)).filter(can_be),
        false => std::env::split_paths(path).map(|place| place.join(program)).find(can_be),
    }
}
