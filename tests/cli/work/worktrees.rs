//! Tasks that work in a git worktree of their own: merged when done, given back when that cannot be.

use serde_json::json;

use crate::scene::{Scene, until};

fn git(scene: &Scene, arguments: &[&str]) -> String {
    let mut git = scene.program("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A project in a repository with a commit, on which nobody is configured.
fn repository() -> Scene {
    let scene = Scene::new();
    git(&scene, &["init", "--quiet", "--initial-branch", "main"]);
    scene.put("a", "one\n");
    scene.put(".gitignore", ".tasks/\n.crew/\n");
    git(&scene, &["add", "a", ".gitignore"]);
    git(&scene, &["commit", "--quiet", "-m", "first"]);
    scene
}

/// No branch, no directory: nothing is left of a worktree.
#[track_caller]
fn nothing_is_left(scene: &Scene) {
    assert_eq!(git(scene, &["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(git(scene, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(scene, &["status", "--porcelain"]), "");
}

#[test]
fn side_by_side_in_trees_of_their_own() {
    let scene = repository();
    // Each waits for the other, and neither sees what the other writes.
    for (id, other) in [("1", "2"), ("2", "1")] {
        let meet = format!("touch \"$MEET/{id}\"; until [ -e \"$MEET/{other}\" ]; do sleep 0.01; done");
        let run = format!("pwd; MEET=\"$CREW_LOG_DIR/..\"; [ ! -e {other} ] && echo {id} > {id} && {meet}; [ ! -e {other} ]");
        scene.task(id, json!({ "run": run, "check": format!("[ -e {id} ] && \"$CREW\" show {id} --json | grep -q in_progress"), "worktree": true }));
    }
    let ran = scene.run(&["work", "--jobs", "2"]).succeeded();
    for id in ["1", "2"] {
        assert_eq!((scene.status(id), scene.outcomes(id)), ("completed".into(), vec!["done".into()]), "{ran:#?}");
        assert!(scene.summary(id).contains(&format!("worktrees/{id}")), "{}", scene.summary(id));
        let commit = scene.read(id)["result"]["commit"].as_str().unwrap().to_owned();
        git(&scene, &["merge-base", "--is-ancestor", &commit, "main"]);
        assert_eq!(scene.file(id), format!("{id}\n"));
    }
    assert!(git(&scene, &["log", "--format=%s %an"]).contains("task 1: subject of 1 crew"));
    nothing_is_left(&scene);
}

#[test]
fn a_board_that_git_tracks_is_still_the_one_board() {
    let scene = repository();
    scene.task("1", json!({ "run": "[ -d .tasks ] && \"$CREW\" add 'from within' && echo x > new", "worktree": true }));
    git(&scene, &["add", "--force", ".tasks/task_1.json"]);
    git(&scene, &["commit", "--quiet", "-m", "the board"]);
    scene.run(&["work", "--yes"]).succeeded();
    assert_eq!((scene.status("1"), scene.status("2"), scene.file("new")), ("completed".into(), "pending".into(), "x\n".into()));
    assert_eq!(git(&scene, &["show", "--format=", "--name-only", "HEAD"]), "new");
    assert_eq!(git(&scene, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn only_what_is_done_is_merged() {
    let scene = repository();
    scene.task("1", json!({ "run": "echo tried >> tries; [ \"$(wc -l < tries)\" = 2 ]", "worktree": true, "retries": 1 }));
    // It goes on where it was left, in its own tree.
    scene.run(&["work"]).succeeded();
    assert_eq!((scene.outcomes("1"), scene.lines("tries")), (vec!["failed".into(), "done".into()], vec!["tried".into(), "tried".into()]));
    nothing_is_left(&scene);

    scene.task("2", json!({ "run": "echo x > checked", "check": "false", "worktree": true }));
    scene.run(&["work"]).ended_with(1);
    assert!(!scene.has("checked"));
    assert_eq!(git(&scene, &["branch", "--format=%(refname:short)"]), "crew/2\nmain");
    // One that changes nothing has nothing to merge.
    scene.task("3", json!({ "run": "true", "worktree": true }));
    scene.task("4", json!({ "run": "pwd", "worktree": false }));
    scene.run(&["work"]).succeeded();
    assert_eq!((scene.status("3"), scene.summary("4")), ("completed".into(), scene.project().display().to_string()));
    assert_eq!(git(&scene, &["log", "--format=%s"]).lines().count(), 2);
}

#[test]
fn what_cannot_be_merged_goes_back_to_its_author_once() {
    let scene = repository();
    // Somebody else changes the same meanwhile.
    let collide = "echo mine > a; echo theirs > \"$PROJECT/a\"";
    scene.put(".crew/teammates/alice.md", "---\nworktree: true\nidleTimeout: 1s\n---\n");
    scene.task(
        "1",
        json!({ "run": format!("PROJECT=\"$(dirname \"$CREW_BOARD\")\"; {collide}; [ ! -e \"$PROJECT/go\" ] || git -C \"$PROJECT\" checkout --quiet a") }),
    );
    scene.run(&["spawn", "alice", "--foreground", "--yes"]).succeeded();
    // Given back, tried again by the same, and no better: then it has failed.
    assert_eq!((scene.outcomes("1"), scene.status("1")), (vec!["handoff".into(), "failed".into()], "failed".into()));
    let first = scene.read("1")["attempts"][0].clone();
    assert_eq!((first["to"].as_str(), first["by"].as_str()), (Some("alice"), Some("alice")));
    for reason in [first["reason"].as_str().unwrap().to_owned(), scene.reason("1")] {
        assert!(
            reason.starts_with("its work was not merged: ") && reason.contains("would change: a; it is kept in ") && reason.ends_with("worktrees/1"),
            "{reason}"
        );
    }
    assert_eq!((scene.file("a"), git(&scene, &["show", "crew/1:a"])), ("theirs\n".into(), "mine".into()));
    // When the other has made way it goes through.
    scene.put("go", "");
    scene.put(".gitignore", ".tasks/\n.crew/\ngo\n");
    git(&scene, &["commit", "--quiet", "-m", "ignore", ".gitignore"]);
    scene.run(&["retry", "1"]).succeeded();
    scene.run(&["spawn", "alice", "--foreground", "--yes"]).succeeded();
    assert_eq!((scene.status("1"), scene.file("a")), ("completed".into(), "mine\n".into()));
    nothing_is_left(&scene);
}

#[test]
fn a_batch_has_no_author_to_ask() {
    let scene = repository();
    scene.task("1", json!({ "run": "echo mine > a; echo theirs > \"$(dirname \"$CREW_BOARD\")/a\"", "worktree": true }));
    let ran = scene.run(&["work"]).ended_with(1);
    assert_eq!(scene.outcomes("1"), ["failed"]);
    assert!(ran.err.contains("its work was not merged"), "{ran:#?}");
    // Its own word in the middle of it changes nothing: it is merged when it ends.
    git(&scene, &["checkout", "--quiet", "a"]);
    scene.task("2", json!({ "run": "\"$CREW\" finish \"$CREW_TASK_ID\" && echo late > late", "worktree": true }));
    scene.run(&["work"]).succeeded();
    assert_eq!((scene.status("2"), scene.file("late")), ("completed".into(), "late\n".into()));
}

#[test]
fn what_is_taken_away_is_not_merged() {
    let scene = repository();
    scene.task(
        "1",
        json!({ "run": "echo x > new; touch \"$CREW_LOG_DIR/began\"; until [ -e \"$CREW_LOG_DIR/go\" ]; do sleep 0.01; done", "worktree": true }),
    );
    let work = scene.start(scene.crew(&["work"]));
    let logs = || {
        let homes = std::fs::read_dir(scene.home()).into_iter().flatten().flatten();
        homes.map(|home| home.path().join("logs/1")).find(|logs| logs.join("began").exists())
    };
    until("it is at work", || logs().is_some());
    scene.run(&["cancel", "1"]).succeeded();
    std::fs::write(logs().unwrap().join("go"), "").unwrap();
    work.ended().succeeded();
    assert_eq!((scene.status("1"), scene.has("new")), ("cancelled".into(), false));
    assert_eq!(git(&scene, &["branch", "--format=%(refname:short)"]), "crew/1\nmain", "what was done is kept");
}

#[test]
fn killed_in_the_middle_of_a_merge_it_is_merged_by_the_next() {
    for point in ["worktree.added", "merge.committed", "merge.files", "worktree.clearing"] {
        let scene = repository();
        scene.task("1", json!({ "run": "[ -e new ] || echo x > new", "worktree": true }));
        let mut crew = scene.crew(&["work"]);
        crew.env("CREW_CRASH_AT", point);
        assert_eq!(scene.start(crew).ended().code(), None, "{point}");
        scene.run(&["work"]).succeeded();
        assert_eq!(
            (scene.status("1"), scene.outcomes("1"), scene.file("new")),
            ("completed".into(), vec!["lost".into(), "done".into()], "x\n".into()),
            "{point}"
        );
        assert_eq!(git(&scene, &["log", "--format=%s"]).lines().count(), 2, "{point}");
        nothing_is_left(&scene);
    }
}

#[test]
fn without_a_repository_it_works_in_the_project_and_says_so() {
    let scene = Scene::new();
    scene.task("1", json!({ "run": "pwd", "worktree": true }));
    let ran = scene.run(&["work"]).succeeded();
    assert_eq!(scene.summary("1"), scene.project().display().to_string());
    assert!(ran.err.contains("not in a working tree of its own: ") && ran.err.contains("git init"), "{ran:#?}");
    // Nor is there anything to begin with where nothing is committed.
    git(&scene, &["init", "--quiet"]);
    scene.task("2", json!({ "run": "pwd", "worktree": true }));
    assert!(scene.run(&["work"]).succeeded().err.contains("has no commit yet"));
    assert_eq!(scene.summary("2"), scene.project().display().to_string());
}

#[test]
fn a_command_by_hand_works_there_too() {
    let scene = repository();
    scene.task("1", json!({ "worktree": true }));
    scene.run(&["exec", "--as", "me", "--", "sh", "-c", "echo x > new"]).succeeded();
    assert_eq!((scene.status("1"), scene.file("new")), ("completed".into(), "x\n".into()));
    nothing_is_left(&scene);
}

#[test]
fn one_that_cannot_be_made_fails_its_task_alone() {
    let scene = repository();
    git(&scene, &["branch", "crew"]);
    scene.task("1", json!({ "run": "touch harm", "worktree": true }));
    scene.task("2", json!({ "run": "true" }));
    scene.run(&["work"]).ended_with(1);
    assert_eq!((scene.status("1"), scene.status("2"), scene.has("harm")), ("failed".into(), "completed".into(), false));
    assert!(scene.reason("1").starts_with("it has no working tree to work in: ") && scene.reason("1").contains("crew"), "{}", scene.reason("1"));
}
