//! The team's tools: their arguments, and what of them is done above.
//!
//! `post`, `idle` and `compact` are moves of the turn ([`Effect`]). What the board's crate does by itself (the memory, the
//! thread, reading tasks, messages) is done in [`desk`]. The rest needs the run's rules, and so is a trait: [`Crew`].

pub mod desk;
pub mod id;
pub mod letters;

use std::pin::Pin;
use std::rc::Rc;

use board::name::Name;
use board::post::Kind;
use board::task_id::TaskId;
use board::thread::LONGEST_TEXT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Answer, Effect, Family, Tool};
use desk::Desk;
use id::Id;

/// What is being done for a call: words for the model, on both sides.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + 'a>>;

/// A turn of a teammate, in which it calls the team's tools. Who calls is never an argument: a model cannot say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The teammate.
    pub name: Name,
    /// The turn.
    pub turn: String,
    /// The task that the turn holds.
    pub task: Option<TaskId>,
    /// Whether the turn is one of the thread. One that is not, and holds no task, is over messages: it cannot post.
    pub of_thread: bool,
}

/// Who gives each turn what the run does for it.
pub trait Crews {
    /// That of a turn.
    fn of_turn(&self, at: &At) -> Rc<dyn Crew>;
}

/// What the run does for a turn. Each answer is words for the model; an error is a refusal, and changes nothing.
pub trait Crew {
    /// Posts: the move that ends the turn.
    fn post(&self, post: Post) -> Doing<'_>;
    /// Raises a notice for the person.
    fn tell_user(&self, notice: TellUser) -> Doing<'_>;
    /// Makes a task.
    fn task_create(&self, task: TaskCreate) -> Doing<'_>;
    /// Changes a task.
    fn task_update(&self, change: TaskUpdate) -> Doing<'_>;
    /// Claims a task for this teammate.
    fn claim_task(&self, claim: ClaimTask) -> Doing<'_>;
    /// Asks somebody for one answer.
    fn ask(&self, question: Ask) -> Doing<'_>;
    /// Tells somebody something, once, without an answer.
    fn notify(&self, news: Notify) -> Doing<'_>;
}

/// The arguments of `post`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// say: talk; to user it is a question, and the run stops until it is answered. work_done: the repository changed.
    /// handoff: it is somebody else's turn. wait: something outside has to happen first. gate: an irreversible step needs
    /// an answer; quote the command word for word. done: the goal is reached.
    pub kind: Move,
    /// What it says.
    #[serde(default)]
    pub text: String,
    /// Who is to speak next: a teammate's name, or user for a question. Left out with kind handoff: anybody else.
    #[serde(default)]
    pub handoff: Option<String>,
}

/// The six moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // They are those of `board::post::Kind`.
pub enum Move {
    Say,
    WorkDone,
    Handoff,
    Wait,
    Gate,
    Done,
}

impl From<Move> for Kind {
    fn from(said: Move) -> Kind {
        match said {
            Move::Say => Kind::Say,
            Move::WorkDone => Kind::WorkDone,
            Move::Handoff => Kind::Handoff,
            Move::Wait => Kind::Wait,
            Move::Gate => Kind::Gate,
            Move::Done => Kind::Done,
        }
    }
}

impl Post {
    /// Why it cannot be posted; `None`: it can, as far as it tells by itself.
    fn flaw(&self) -> Option<String> {
        if self.kind != Move::Handoff && self.text.trim().is_empty() {
            return Some("a post says something: give it a `text`".into());
        }
        let bytes = self.text.len();
        (bytes > LONGEST_TEXT).then(|| format!("a post has at most {LONGEST_TEXT} bytes, this one has {bytes}: put what is long into a file"))
    }
}

/// No arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The arguments of `compact`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Compact {
    /// What is to be kept in mind above all.
    #[serde(default)]
    focus: Option<String>,
}

/// The arguments of `tell_user`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TellUser {
    /// What the person is to know.
    pub text: String,
    /// Keep this from the team until the person answers: `browser`, for something that they are to see there.
    #[serde(default)]
    pub holds: Option<String>,
}

/// The arguments of `task_create`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskCreate {
    /// One line.
    pub subject: String,
    /// The brief, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Ids of tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Id>,
    /// Higher first. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// The lowest tier that may claim it: cheap, mid or top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The only role that may claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The only teammate that may claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Capabilities that its teammate must have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A command that must succeed after the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// The arguments of `task_update`. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskUpdate {
    /// The task.
    pub id: Id,
    /// One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The brief, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Higher first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// The lowest tier that may claim it: cheap, mid or top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The only role that may claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The only teammate that may claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Ids of further tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_on: Vec<Id>,
    /// Ids of tasks that need not be completed first any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unblock_from: Vec<Id>,
    /// The command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A command that must succeed after the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// The arguments of `claim_task`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimTask {
    /// The task; left out: the best that you may claim.
    #[serde(default)]
    pub id: Option<Id>,
}

/// The arguments of `ask`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Whom.
    pub to: String,
    /// The question.
    pub text: String,
}

/// The arguments of `notify`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Whom.
    pub to: String,
    /// What they are to know.
    pub text: String,
}

/// The keys of a task that are commands: only of tasks made by those who may make such.
const COMMANDS: [&str; 2] = ["run", "check"];

/// The team's tools. `may_run`: whether tasks that are made or changed with them may have commands.
pub fn tools(desk: &Rc<Desk>, crew: &Rc<dyn Crew>, may_run: bool) -> Vec<Tool> {
    let mut tools = Vec::from(moves());
    tools.extend(desk::tools(desk));
    let above = |name: &str, description: &str| (name.to_owned(), description.to_owned());
    tools.extend([
        above_tool(
            crew,
            above("tell_user", "Tell the person something that they should know; once a turn. It ends nothing, and an answer comes in a later turn."),
            |crew, input: TellUser| crew.tell_user(input),
        ),
        above_tool(crew, above("claim_task", "Claim a task of the board, to work on it yourself."), |crew, input: ClaimTask| crew.claim_task(input)),
        above_tool(crew, above("ask", "Ask somebody a question that one answer settles."), |crew, input: Ask| crew.ask(input)),
        above_tool(crew, above("notify", "Tell somebody something that needs no answer."), |crew, input: Notify| crew.notify(input)),
    ]);
    let create = above_tool(crew, above("task_create", "Make a task on the board."), |crew, input: TaskCreate| crew.task_create(input));
    let update = above_tool(crew, above("task_update", "Change a task of the board. Its status changes by work and posts only."), |crew, input: TaskUpdate| {
        crew.task_update(input)
    });
    tools.extend([create, update].map(|tool| if may_run { tool } else { tool.without(&COMMANDS) }));
    tools
}

fn above_tool<I, W>(crew: &Rc<dyn Crew>, (name, description): (String, String), work: W) -> Tool
where
    I: JsonSchema + serde::de::DeserializeOwned + 'static,
    W: for<'c> Fn(&'c dyn Crew, I) -> Doing<'c> + Copy + 'static,
{
    let crew = Rc::clone(crew);
    Tool::new(&name, &description, Family::Crew, Access::Acts, move |input: I| {
        let crew = Rc::clone(&crew);
        async move { work(&*crew, input).await.into() }
    })
}

/// The calls that are moves.
fn moves() -> [Tool; 3] {
    let post = Tool::new("post", "Post in the thread: your move, which ends your turn.", Family::Crew, Access::Acts, |input: Post| async move {
        match input.flaw() {
            Some(flaw) => Answer::failed(format!("This was not posted: {flaw}.")),
            None => Answer::Effect(Effect::Post(input)),
        }
    });
    let idle = Tool::new("idle", "End your turn: there is nothing more that you can do now.", Family::Crew, Access::Acts, |_: Nothing| async {
        Answer::Effect(Effect::Idle)
    });
    let description = "Replace the conversation so far by a summary, to have room for more.";
    let compact = Tool::new("compact", description, Family::Crew, Access::Acts, |input: Compact| async move { Answer::Effect(Effect::Compact(input.focus)) });
    [post, idle, compact]
}
