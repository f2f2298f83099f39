//! `crew mcp`, spoken to as a client does: one JSON document a line, on its standard input and output.

mod client;
mod desk;
mod protocol;
mod resources;
mod turns;

use ::board::place::{Place, Surroundings};
use ::board::run::{OpenTurn, Run};
use ::board::{Board, clock};
use serde_json::json;

use crate::scene::Scene;
use client::Client;

/// The tools that change nothing.
const READERS: [&str; 3] = ["read_thread", "task_list", "task_get"];

/// A board with a team of alice and bob.
fn scene() -> Scene {
    let scene = Scene::new();
    for name in ["alice", "bob"] {
        scene.put(&format!(".crew/teammates/{name}.md"), "---\nrole: coder\n---\n");
    }
    scene
}

/// Somebody at a desk, who has greeted the server.
fn at_desk(scene: &Scene, name: &str) -> Client {
    Client::greeting(scene.crew(&["mcp", "--as", name]))
}

/// The same within a turn.
fn in_turn(scene: &Scene, name: &str, turn: &str, task: Option<&str>) -> Client {
    let mut crew = scene.crew(&["mcp"]);
    crew.env("CREW_AS", name).env("CREW_TURN", turn);
    if let Some(task) = task {
        crew.env("CREW_TASK_ID", task);
    }
    Client::greeting(crew)
}

fn open(scene: &Scene) -> Board {
    let surroundings = Surroundings { crewboard_home: Some(scene.home().into()), ..Surroundings::default() };
    Board::open(Place::at(&scene.tasks(), &surroundings).unwrap()).unwrap()
}

fn run(scene: &Scene) -> Run {
    Run::of(open(scene).place()).unwrap()
}

/// Opens a turn of the thread, as the run's daemon does; its id.
fn thread_turn(scene: &Scene, of: &str) -> String {
    let run = run(scene);
    let turn: OpenTurn =
        serde_json::from_value(json!({ "turn": ::board::turn::fresh(), "of": of, "opened": clock::now(), "after": run.thread.last_seq().unwrap() })).unwrap();
    run.thread.lock(std::time::Duration::from_secs(10)).unwrap().set_open_turn(Some(&turn)).unwrap();
    turn.turn
}

/// Every post, as author, kind and words.
fn thread(scene: &Scene) -> Vec<(String, String, String)> {
    run(scene).thread.all().unwrap().into_iter().map(|post| (post.from, post.kind.to_string(), post.text)).collect()
}
