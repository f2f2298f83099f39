//! What runs below the process of a teammate answers for no person and acts as nobody else, whatever it makes of its
//! environment, its session and its parents.

use super::stage::Stage;
use crate::scene::until;

/// Ways to be started by a teammate's turn without being seen to be: each runs `$@`, with what `crew` needs to find the
/// state and nothing else.
const WAYS: [(&str, &str); 4] = [
    ("as it is", "plain() { \"$@\"; }"),
    ("without its environment", "plain() { env -i CREWBOARD_HOME=\"$CREWBOARD_HOME\" \"$@\"; }"),
    ("in a session of its own", "plain() { setsid -w env -i CREWBOARD_HOME=\"$CREWBOARD_HOME\" \"$@\"; }"),
    (
        "as an orphan",
        "plain() { rm -f .stage/code; (setsid env -i CREWBOARD_HOME=\"$CREWBOARD_HOME\" sh -c '\"$@\"; echo $? > .stage/code.new; mv .stage/code.new .stage/code' - \"$@\" &); while ! test -e .stage/code; do :; done; return $(cat .stage/code); }",
    ),
];

/// What only a person does.
const OF_PERSONS: [&str; 15] = [
    "approve 1",
    "deny 1",
    "answer 1 yes",
    "notice 1 --release",
    "send hello",
    "start --yes",
    "start --daemon",
    "stop",
    "pause",
    "resume",
    "new-run",
    "arm --yes",
    "restore 1",
    "shutdown bob",
    "goal 'something else'",
];

/// What is done under a name that is not its own.
const AS_ANOTHER: [&str; 8] = [
    "post --as bob --kind say x",
    "claim --as bob",
    "finish 1 --as bob",
    "fail 1 --as bob",
    "release 1 --as bob",
    "notice --tell x --as bob",
    "send-message bob x --as carol",
    "exec --as bob 1 -- true",
];

/// What is on record; what the daemon notes of its own is not among it.
fn everything(stage: &Stage) -> [String; 6] {
    let names = ["thread.jsonl", "asks.json", "turn.json", "inbox/user.jsonl", "stop.request", "pause.request"];
    names.map(|name| String::from_utf8(stage.bytes(name)).unwrap())
}

#[test]
fn it_does_nothing_that_is_a_persons_and_acts_as_nobody_else() {
    let stage = Stage::new(&["alice", "bob"]);
    stage.scene.task("1", serde_json::json!({ "owner": "dave" }));
    stage.start();
    stage.turn_of("alice").does("\"$CREW\" notice --tell 'the disk is nearly full' > .stage/notice");
    until("it is told", || !stage.scene.lines(".stage/notice").is_empty());
    let before = everything(&stage);
    for (way, function) in WAYS {
        for verb in OF_PERSONS {
            let (code, said) = stage.turn_of("alice").tries(&format!("{function}; plain \"$CREW\" {verb}"));
            assert!(code == 4 && (way == "as an orphan" || said.contains("[only-a-person]")), "{way}: {verb}: {code} {said}");
        }
        for verb in AS_ANOTHER {
            let (code, said) = stage.turn_of("alice").tries(&format!("{function}; plain \"$CREW\" {verb}"));
            assert!(code == 4 && said.contains("acts as alice only"), "{way}: {verb}: {code} {said}");
        }
        // Without a name it is the user who speaks.
        let (code, said) = stage.turn_of("alice").tries(&format!("unset CREW_AS; {function}; plain \"$CREW\" send-message bob x"));
        assert!(code == 4 && said.contains("[only-a-person]"), "{way}: {code} {said}");
        let (code, said) = stage.turn_of("alice").tries(&format!("{function}; plain \"$CREW\" release 1 --force"));
        assert!(code == 4 && said.contains("[only-a-person]"), "{way}: {code} {said}");
    }
    assert_eq!(everything(&stage), before);
    // Under its own name it acts as ever.
    let (code, said) = stage.turn_of("alice").tries(&format!("{}; plain \"$CREW\" post --as alice --kind say hello", WAYS[2].1));
    assert_eq!(code, 0, "{said}");
    assert_eq!(stage.thread().last().unwrap()["from"], "alice");
    // And a person as well, while it lives.
    stage.turn_of("bob");
    stage.crew(&["answer", "1", "yes"]).succeeded();
    stage.stops();
    stage.is_sound();
}

#[test]
fn its_word_allows_nothing_that_the_repository_brings() {
    let stage = Stage::new(&["alice"]);
    stage.start();
    stage.turn_of("alice");
    stage.scene.put(".crew/teammates/carol.md", "---\ncommand: touch .stage/carol\n---\n");
    stage.scene.task("5", serde_json::json!({ "run": "touch .stage/five", "owner": "worker-1" }));
    stage.git(&["add", "--force", ".tasks/task_5.json"]);
    for verb in ["spawn carol --yes", "work --yes --jobs 1"] {
        let (code, said) = stage.turn_of("alice").tries(&format!("{}; plain \"$CREW\" {verb} < /dev/null", WAYS[1].1));
        assert!(code == 4 && said.contains("[not-armed]"), "{verb}: {code} {said}");
    }
    assert!(!stage.scene.has(".stage/carol") && !stage.scene.has(".stage/five"));
    stage.stops();
}
