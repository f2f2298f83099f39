#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // A test that is surprised ends there; it writes what people would.

use std::path::PathBuf;

use board::locked::{Claimed, Terms};
use board::place::Surroundings;
use board::post::Post as Posted;
use board::run::{OpenTurn, Run};
use board::thread::Draft;
use board::{Board, Durability, clock};
use serde_json::{Value, json};
use teammates::conversation::ToolCall;
use teammates::profile::{Origin, Profile};
use teammates::tools::crew::{self, desk::Desk};
use teammates::tools::{Answer, Effect, Toolbox};

use super::*;
use crate::run::PATIENCE;

mod desk;
mod moves;
mod tasks;

/// A team of alice, who is a model, and bob, in a repository.
struct Bench {
    _temp: tempfile::TempDir,
    project: PathBuf,
    workplace: Workplace,
    profile: Profile,
    run: Run,
}

impl Bench {
    fn new() -> Bench {
        Bench::with("")
    }

    /// The same with more keys in alice's file.
    fn with(keys: &str) -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("project");
        std::fs::create_dir_all(project.join(".crew/teammates")).unwrap();
        std::fs::write(project.join("file"), "one\n").unwrap();
        git2::Repository::init(&project).unwrap();
        let files = [("alice", format!("---\nrunner: anthropic\nrole: coder\n{keys}---\nYou are alice.\n")), ("bob", "---\nrole: tester\n---\n".into())];
        for (name, text) in &files {
            std::fs::write(project.join(".crew/teammates").join(format!("{name}.md")), text).unwrap();
        }
        let surroundings = Surroundings { crewboard_home: Some(temp.path().join("home").into()), ..Surroundings::default() };
        let board = Board::init(&project, Durability::Relaxed, &surroundings).unwrap();
        let run = Run::of(board.place()).unwrap();
        let alice = project.join(".crew/teammates/alice.md");
        let profile = teammates::profiles::read(&alice, Origin::Crew).unwrap().unwrap();
        Bench { _temp: temp, project, workplace: Workplace::open(board).unwrap(), profile, run }
    }

    fn name(name: &str) -> Name {
        Name::new(name).unwrap()
    }

    /// Opens a turn of the thread for somebody.
    fn thread_turn(&self, of: &str) -> At {
        let turn: OpenTurn = serde_json::from_value(json!({
            "turn": board::turn::fresh(), "of": of, "opened": clock::now(), "after": self.run.thread.last_seq().unwrap(),
            "base": board::tree::state(self.workplace.place()).unwrap(),
        }))
        .unwrap();
        self.run.thread.lock(PATIENCE).unwrap().set_open_turn(Some(&turn)).unwrap();
        At { name: Bench::name(of), turn: turn.turn, task: None, of_thread: true }
    }

    /// Somebody claims a task.
    fn claim(&self, who: &str, id: &str) -> Claimed {
        let mut board = self.workplace.board();
        let mut locked = board.lock(PATIENCE).unwrap();
        let claimed = locked.claim(None, &Claimant::shell(who), Some(&TaskId::new(id).unwrap()), &Terms::default()).unwrap().unwrap();
        locked.unlock().unwrap().settle().unwrap();
        claimed
    }

    fn task_turn(&self, who: &str, id: &str) -> At {
        let claimed = self.claim(who, id);
        At { name: Bench::name(who), turn: claimed.turn, task: Some(claimed.task.id), of_thread: false }
    }

    /// The same, where it was put down how the tree stood, as for an attempt without a command.
    fn task_turn_with_base(&self, who: &str, id: &str) -> At {
        let at = self.task_turn(who, id);
        let state = board::tree::state(self.workplace.place()).unwrap();
        let logs = self.workplace.place().attempt_logs(&TaskId::new(id).unwrap()).unwrap();
        logs.replace(&format!("{}.base.json", at.turn), json!(state).to_string().as_bytes(), 0o600, false).unwrap();
        at
    }

    fn message_turn(&self) -> At {
        At { name: Bench::name("alice"), turn: board::turn::fresh(), task: None, of_thread: false }
    }

    fn tools(&self, at: &At) -> (Toolbox, Rc<dyn Crew>) {
        let crew = CrewTools::of(self.workplace.clone(), &self.profile).of_turn(at);
        let desk = Rc::new(Desk::of(self.workplace.clone(), at.name.clone()));
        (Toolbox::of(&self.profile, crew::tools(&desk, &crew, self.profile.may_run), None), crew)
    }

    /// A model calls a tool in a turn: what it gets back.
    fn call(&self, at: &At, name: &str, input: &Value) -> Result<String, String> {
        let (tools, crew) = self.tools(at);
        let call = ToolCall { id: "1".into(), name: name.into(), input: input.clone(), malformed: None };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            match tools.call(&call).await {
                Answer::Result { text, is_error } => {
                    if is_error {
                        Err(text)
                    } else {
                        Ok(text)
                    }
                }
                Answer::Effect(Effect::Post(post)) => crew.post(post).await,
                Answer::Effect(other) => panic!("{other:?}"),
            }
        })
    }

    #[track_caller]
    fn done(&self, at: &At, name: &str, input: Value) -> String {
        self.call(at, name, &input).unwrap_or_else(|e| panic!("{name} {input}: {e}"))
    }

    /// It is refused for this reason, and the board and the thread are as they were.
    #[track_caller]
    fn refused(&self, at: &At, name: &str, input: Value, because: &str) {
        let before = (self.tasks(), self.thread().len());
        let said = self.call(at, name, &input).expect_err(&format!("{name} {input}"));
        assert!(said.contains(because), "{name} {input}: {said}");
        assert_eq!((self.tasks(), self.thread().len()), before, "{name} {input}");
    }

    /// Puts a task on the board.
    fn add(&self, document: Value) -> String {
        let mut document = document;
        document.as_object_mut().unwrap().entry("subject").or_insert_with(|| "x".into());
        let draft = board::add::Draft { text: document.to_string(), origin: "test".into() };
        self.workplace.board().add(&[draft], PATIENCE).unwrap()[0].to_string()
    }

    fn task(&self, id: &str) -> Value {
        let (bytes, _) = self.workplace.board().read_task(&TaskId::new(id).unwrap()).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn tasks(&self) -> Vec<Value> {
        let mut board = self.workplace.board();
        board.sweep().unwrap();
        let ids: Vec<TaskId> = board.index().entries().map(|(id, _)| id.clone()).collect();
        drop(board);
        ids.iter().map(|id| self.task(id.as_str())).collect()
    }

    fn thread(&self) -> Vec<Posted> {
        self.run.thread.all().unwrap()
    }

    /// Somebody says something in the thread.
    fn says(&self, from: &str, text: &str) {
        self.run.thread.lock(PATIENCE).unwrap().append(Draft { from: from.into(), text: text.into(), ..Draft::default() }).unwrap();
    }

    /// What waits for a teammate: from whom, and the words.
    fn inbox(&self, of: &str) -> Vec<(String, String)> {
        let inboxes = std::sync::Arc::new(self.workplace.place().inboxes().unwrap());
        let inbox = board::inbox::Inbox::open(inboxes, &Bench::name(of)).unwrap();
        inbox.read(None).unwrap().messages.into_iter().map(|message| (message.from, message.text)).collect()
    }

    fn work(&self) {
        let file = self.project.join("file");
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "more\n").unwrap();
    }
}
