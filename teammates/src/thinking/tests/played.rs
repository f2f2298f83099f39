//! Turns whose model is a recording: all else of them is real.

use super::*;
use crate::provider::recorder::{Recorder, Recording};
use crate::provider::recording::names::{Named, Names};
use crate::provider::recording::{FORMAT, Head};
use crate::provider::script::Script;

impl Stage {
    fn project(&self) -> String {
        self.thinker.workplace.place().project().display().to_string()
    }

    fn names(&self) -> Names {
        let place = self.thinker.workplace.place();
        Names::of(&[(Named::Project, place.project()), (Named::State, place.state())])
    }

    fn recording(&self) -> std::path::PathBuf {
        self.temp.path().join("alice.jsonl")
    }

    /// With that model alone.
    fn with_model(mut self, model: Model) -> Stage {
        Rc::get_mut(&mut self.thinker).unwrap().thinking.ways = vec![model.into()];
        self
    }

    /// What a server says is recorded.
    fn recorded(self, url: &str) -> Stage {
        let mut model = model(0, url);
        let head = Head { format: FORMAT, api: model.api.api().into(), model: model.name.clone(), context: Some(model.context) };
        let recording = Recording::open(&Dir::open(self.temp.path()).unwrap(), "alice.jsonl", &head).unwrap();
        model.api = Box::new(Recorder::new(model.api, Arc::new(recording), self.names()));
        self.with_model(model)
    }

    /// What was recorded on another stage is played.
    fn played(self, recording: &Path) -> Stage {
        let script = Script::open(recording, self.names()).unwrap();
        let mut model = Model::played(Box::new(script), "model0", recording);
        model.context = 10_000;
        self.with_model(model)
    }
}

const TURNS: [[&str; 2]; 2] = [["0123456789ab-1", "0123456789ab-2"], ["zyxwvtsrqpnm-7", "aaaabbbbcccc-1"]];

/// The lines of the log of a turn, with what differs from stage to stage taken out. What was read at once ended in any order.
fn log(stage: &Stage, turn: &str) -> Vec<String> {
    let mut lines: Vec<String> = stage.names().plain(&stage.log(turn), &mut Default::default()).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn what_was_recorded_is_played_in_another_project_with_real_tools() {
    run(async {
        let here = Stage::new("writes: true", &[]);
        let project = here.project();
        let write = call("bash", json!({ "command": format!("cd {project} && sed -i s/content/words/ a.txt && cat a.txt && pwd && date +%FT%TZ") }));
        let answers = vec![
            says(&[text("I look."), call("read_file", json!({ "path": "a.txt" })), call("read_file", json!({ "path": format!("{project}/a.txt") }))]),
            says(&[write]),
            says(&[text("Done."), post(&format!("mended {project}/a.txt in turn {}", TURNS[0][0]))]),
            says(&[post("nothing more")]),
        ];
        let server = Server::of(answers).await;
        let here = here.recorded(&server.url);
        for turn in TURNS[0] {
            assert_eq!(here.perform(turn).await, Outcome::Posted);
        }
        let recorded = std::fs::read_to_string(here.recording()).unwrap();
        assert!(!recorded.contains(&project) && !recorded.contains(TURNS[0][0]) && !recorded.contains(KEY), "{recorded}");
        assert!(recorded.contains("words of a\\n{project}\\n{time}"), "{recorded}");

        let there = Stage::new("writes: true", &[]).played(&here.recording());
        for turn in TURNS[1] {
            assert_eq!(there.perform(turn).await, Outcome::Posted, "{}", there.log(turn));
        }
        assert_eq!(there.posts(), [format!("mended {}/a.txt in turn {}", there.project(), TURNS[1][0]), "nothing more".into()]);
        assert_eq!(std::fs::read_to_string(Path::new(&there.project()).join("a.txt")).unwrap(), "words of a\n", "its tools are real");
        for (one, other) in TURNS[0].iter().zip(TURNS[1]) {
            assert_eq!(log(&here, one), log(&there, other));
        }
        let sum = |stage: &Stage| stage.calls().iter().map(|call| call.input_tokens + call.output_tokens).sum::<u64>();
        assert_eq!(sum(&here), sum(&there));
        assert_eq!(server.requests().len(), 4, "nothing was asked over the network when it was played");
    });
}

#[test]
fn a_tool_that_answers_something_else_fails_the_turn() {
    run(async {
        let server = Server::of(vec![says(&[call("read_file", json!({ "path": "a.txt" }))]), says(&[post("read")])]).await;
        let here = Stage::new("writes: true", &[]).recorded(&server.url);
        assert_eq!(here.perform(TURNS[0][0]).await, Outcome::Posted);
        let there = Stage::new("writes: true", &[]).played(&here.recording());
        std::fs::write(Path::new(&there.project()).join("a.txt"), "other content of a\n").unwrap();
        let Outcome::Failed(why) = there.perform(TURNS[1][0]).await else { panic!("{:?}", there.posts()) };
        assert!(why.contains("line 3: the result of read_file (part 1) differs from its line") && why.contains("now \"other content of a"), "{why}");
        assert!(there.posts().is_empty());
        // The next attempt begins anew, and so does what is played.
        std::fs::write(Path::new(&there.project()).join("a.txt"), "content of a\n").unwrap();
        assert_eq!(there.perform(TURNS[1][1]).await, Outcome::Posted);
    });
}

#[test]
fn a_conversation_that_is_compacted_is_played_too() {
    run(async {
        let long = |turn: &str| stops(&[call("bash", json!({ "command": format!("echo {turn}") }))], "tool_use", 9_000);
        let answers = vec![long("one"), says(&[text("So far so good.")]), long("two"), says(&[text("Better.")]), says(&[post("done")])];
        let server = Server::of(answers).await;
        let here = Stage::new("writes: true", &[]).recorded(&server.url);
        assert_eq!(here.perform(TURNS[0][0]).await, Outcome::Posted);
        let there = Stage::new("writes: true", &[]).played(&here.recording());
        assert_eq!(there.perform(TURNS[1][0]).await, Outcome::Posted, "{}", there.log(TURNS[1][0]));
        assert_eq!(std::fs::read_to_string(here.recording()).unwrap().matches("<summary>").count(), 2);
    });
}
