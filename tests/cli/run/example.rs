//! The example team: what it says is the same each time, and nothing of it is left.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::scene::{Ran, Scene};

/// Where the example works: its home there is the scene's, by which its processes are found.
fn directory(scene: &Scene) -> PathBuf {
    scene.home().parent().unwrap().to_owned()
}

fn play(scene: &Scene) -> Ran {
    let mut script = scene.program("sh");
    script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/team/run.sh")).arg(directory(scene));
    scene.start(script).ended()
}

fn crew(scene: &Scene, arguments: &[&str]) -> Ran {
    let mut crew = scene.crew(arguments);
    crew.current_dir(directory(scene).join("project"));
    scene.start(crew).ended().succeeded()
}

/// The thread, without what differs from run to run.
fn thread(scene: &Scene) -> Vec<Value> {
    let said = crew(scene, &["thread", "--json"]).out;
    let posts = said.lines().map(|line| {
        let mut post: Value = serde_json::from_str(line).unwrap();
        let keys = post.as_object_mut().unwrap();
        keys.remove("ts");
        keys.remove("turn");
        post
    });
    posts.collect()
}

#[test]
fn a_team_reaches_its_goal_and_says_the_same_each_time() {
    let threads = [(); 2].map(|()| {
        let scene = Scene::new();
        play(&scene).succeeded();
        scene.nothing_runs();
        let status: Value = serde_json::from_str(&crew(&scene, &["status", "--json"]).out).unwrap();
        assert_eq!((status["run"]["state"].as_str(), status["run"]["alive"].as_bool()), (Some("completed"), Some(false)), "{status}");
        assert_eq!(crew(&scene, &["needs", "--json"]).out, "");
        thread(&scene)
    });
    let [first, second] = &threads;
    assert_eq!(first, second);

    let of_teammates = first.iter().filter(|post| !matches!(post["from"].as_str().unwrap(), "system" | "audit" | "user"));
    let kinds: BTreeSet<&str> = of_teammates.clone().map(|post| post["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["say", "work_done", "handoff", "wait", "gate", "done"]));
    assert!(of_teammates.filter(|post| post["kind"] == "work_done").all(|post| post["credited"] == true), "{first:#?}");
    let verdicts: Vec<&str> = first.iter().filter(|post| post["from"] == "audit").map(|post| post["decision"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["denied", "approved"]);
}

#[test]
fn a_directory_that_is_in_use_is_left_alone() {
    let scene = Scene::new();
    std::fs::create_dir(directory(&scene).join("project")).unwrap();
    assert!(play(&scene).ended_with(2).err.contains("project is there already"));
    assert_eq!(std::fs::read_dir(directory(&scene).join("project")).unwrap().count(), 0);
}
