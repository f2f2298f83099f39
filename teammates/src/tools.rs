//! What a model can call, and what comes of it.
//!
//! A [`Tool`] is a name, a description, a schema made from the Rust type of its arguments, what it may do to the world
//! ([`Access`]) and a call. A [`Toolbox`] holds those that one teammate has: its profile narrows them, and who may not
//! write has none that writes. Whatever a model calls gets an answer: a call that cannot be run says why, with the schema;
//! what is longer than [`bounds::MOST`] is cut, and says with which call to read on.
//!
//! Most answers are results, for the model. Some calls are no work but moves ([`Effect`]): what comes of those decides
//! whoever runs the turn.
//!
//! A call that is dropped is cancelled. What a tool reads from the workspace is data: nothing here acts on it.

use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::conversation::ToolCall;
use crate::profile::Profile;
use crate::provider::{self, call};

pub mod bounds;
pub mod crew;
pub mod gate_list;
pub mod offered;
pub mod outputs;
mod page;
pub mod servers;
mod side_by_side;
#[cfg(test)]
mod tests;
pub mod work;

use outputs::Outputs;

/// What a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It only reads: several calls of one answer run side by side.
    Reads,
    /// It changes files of the workspace: not for who may not write.
    Writes,
    /// Anything else: one at a time, in the order of the calls.
    Acts,
}

/// Which tools belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The workspace's: files and the shell.
    Work,
    /// The team's: the thread, the board, the memory.
    Crew,
    /// Those of a server that the config names.
    Server,
}

/// What comes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The model gets this back.
    Result {
        /// The words.
        text: String,
        /// Whether what was wanted was not done.
        is_error: bool,
    },
    /// A move: whoever runs the turn makes it.
    Effect(Effect),
}

impl Answer {
    /// What was wanted, was done.
    pub fn done(text: impl Into<String>) -> Answer {
        Answer::Result { text: text.into(), is_error: false }
    }

    /// What was wanted was not done, and why.
    pub fn failed(why: impl Into<String>) -> Answer {
        Answer::Result { text: why.into(), is_error: true }
    }
}

impl From<Result<String, String>> for Answer {
    fn from(result: Result<String, String>) -> Answer {
        result.map_or_else(Answer::failed, Answer::done)
    }
}

/// A call that is a move of its teammate.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A post in the thread. It ends the turn.
    Post(crew::Post),
    /// There is nothing more to do. It ends the turn without a post.
    Idle,
    /// The conversation is to be compacted; what is to be kept in mind above all.
    Compact(Option<String>),
}

/// A call under way. Dropping it cancels it.
pub type Calling = Pin<Box<dyn Future<Output = Answer>>>;

type Run = dyn Fn(Value) -> Result<Calling, serde_json::Error>;

/// What a model can call.
pub struct Tool {
    definition: provider::Tool,
    access: Access,
    family: Family,
    run: Box<Run>,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition.name).field("access", &self.access).finish_non_exhaustive()
    }
}

impl Tool {
    /// One whose arguments are of type `I`. What its call does begins when the future is first polled.
    pub fn new<I, F>(name: &str, description: &str, family: Family, access: Access, run: impl Fn(I) -> F + 'static) -> Tool
    where
        I: JsonSchema + DeserializeOwned + 'static,
        F: Future<Output = Answer> + 'static,
    {
        let definition = provider::Tool { name: name.to_owned(), description: description.to_owned(), schema: schema_of::<I>() };
        let run = move |input: Value| Ok(Box::pin(run(serde_json::from_value(input)?)) as Calling);
        Tool { definition, access, family, run: Box::new(run) }
    }

    /// One of a server, whose schema is the server's: it checks the arguments itself.
    pub fn of_server<F>(definition: provider::Tool, access: Access, run: impl Fn(Value) -> F + 'static) -> Tool
    where
        F: Future<Output = Answer> + 'static,
    {
        Tool { definition, access, family: Family::Server, run: Box::new(move |input| Ok(Box::pin(run(input)) as Calling)) }
    }

    /// The same without some of its arguments: they are neither told nor taken.
    fn without(mut self, keys: &'static [&'static str]) -> Tool {
        if let Some(properties) = self.definition.schema.get_mut("properties").and_then(Value::as_object_mut) {
            keys.iter().for_each(|key| drop(properties.remove(*key)));
        }
        let run = self.run;
        self.run = Box::new(move |input| match keys.iter().find(|key| input.get(**key).is_some()) {
            Some(key) => Err(serde::de::Error::custom(format!("unknown field `{key}`"))),
            None => run(input),
        });
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

/// The schema of a type, as the APIs want it: an object's, without what only says where the schema comes from.
fn schema_of<I: JsonSchema>() -> Value {
    let mut schema =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator().into_root_schema_for::<I>();
    schema.remove("$schema");
    schema.remove("title");
    // A type without arguments says no more than that it is an object; some APIs want to see the properties.
    let object = schema.ensure_object();
    object.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    schema.to_value()
}

/// Without these a turn cannot end, or its conversation not go on: no profile takes them away.
const ALWAYS: [&str; 3] = ["post", "idle", "compact"];

/// How the other program, whose files of teammates are read too, calls the work tools.
const OTHER_NAMES: [(&str, &str); 6] =
    [("Read", "read_file"), ("Write", "write_file"), ("Edit", "edit_file"), ("Glob", "glob"), ("Grep", "grep"), ("Bash", "bash")];

/// The tools that a teammate has.
#[derive(Debug)]
pub struct Toolbox {
    tools: Vec<Tool>,
    definitions: Vec<provider::Tool>,
    outputs: Option<Arc<Outputs>>,
}

impl Toolbox {
    /// Of all tools that there are, those of a teammate. `outputs` is where results are kept that are too long.
    ///
    /// `tools` of the profile names those that it has. Where that names none of the crew's, it has all of the crew's: to
    /// be part of a team is no privilege. Who may not write gets no tool that writes, also where it is named.
    pub fn of(profile: &Profile, all: Vec<Tool>, outputs: Option<Arc<Outputs>>) -> Toolbox {
        let named: Option<Vec<&str>> = profile.tools.as_ref().map(|names| names.iter().map(|name| own_name(name)).collect());
        let crew_is_named = |named: &[&str]| all.iter().any(|tool| tool.family == Family::Crew && named.contains(&tool.name()));
        let crew_narrowed = named.as_deref().is_some_and(crew_is_named);
        let has = |tool: &Tool| match &named {
            None => true,
            Some(named) => {
                let always = tool.family == Family::Crew && (!crew_narrowed || ALWAYS.contains(&tool.name()));
                always || named.contains(&tool.name())
            }
        };
        let tools: Vec<Tool> = all.into_iter().filter(|tool| has(tool) && (profile.writes || tool.access != Access::Writes)).collect();
        let definitions = tools.iter().map(|tool| tool.definition.clone()).collect();
        Toolbox { tools, definitions, outputs }
    }

    /// The tools that a profile names and that are none of `all`, for whoever starts the teammate to say so.
    pub fn unknown<'p>(profile: &'p Profile, all: &[Tool]) -> Vec<&'p str> {
        let is_known = |name: &str| all.iter().any(|tool| tool.name() == own_name(name));
        profile.tools.iter().flatten().map(String::as_str).filter(|name| !is_known(name)).collect()
    }

    /// What a provider is told of them.
    pub fn definitions(&self) -> &[provider::Tool] {
        &self.definitions
    }

    /// Whether calls of this tool may run beside others of the kind.
    pub fn only_reads(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name() == name && tool.access == Access::Reads)
    }

    /// Whether a call of this tool does something that others see, and that is not to be done twice.
    pub fn acts_on_others(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name() == name && tool.access == Access::Acts && tool.family != Family::Work)
    }

    /// Runs one call. Whatever is wrong with it is its answer.
    pub async fn call(&self, call: &ToolCall) -> Answer {
        if let Some(refusal) = call::refusal(call, &self.definitions) {
            return Answer::failed(refusal);
        }
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == call.name) else {
            return Answer::failed(format!("There is no tool {:?}.", call.name));
        };
        match (tool.run)(call.input.clone()) {
            Ok(calling) => self.bounded(calling.await),
            Err(e) => Answer::failed(call::wrong_input(&tool.definition, &e.to_string())),
        }
    }

    /// Runs the calls of one answer, in their order; neighbours that only read run side by side. Each answer is told as
    /// it comes, with the place of its call. An effect ends it: what was called behind it is not run, and not told.
    pub async fn answer(&self, calls: &[ToolCall], mut tell: impl FnMut(usize, Answer)) {
        let mut at = 0;
        while let Some(call) = calls.get(at) {
            let readers = calls.get(at..).unwrap_or_default().iter().take_while(|call| self.only_reads(&call.name)).count();
            if readers > 1 {
                let reading = calls.get(at..at + readers).unwrap_or_default().iter().map(|call| Box::pin(self.call(call)) as _).collect();
                side_by_side::each(reading, |place, answer| tell(at + place, answer)).await;
                at += readers;
                continue;
            }
            let answer = self.call(call).await;
            let moved = matches!(answer, Answer::Effect(_));
            tell(at, answer);
            if moved {
                return;
            }
            at += 1;
        }
    }

    fn bounded(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Result { text, is_error } => Answer::Result { text: bounds::bounded(text, self.outputs.as_deref()), is_error },
            effect @ Answer::Effect(_) => effect,
        }
    }
}

/// A tool's name here. `Bash(git:*)` allows less than `bash` does, so it is none.
fn own_name(name: &str) -> &str {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own)
}
