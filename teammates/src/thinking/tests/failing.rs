//! What goes wrong with a call, and what becomes of the turn.

use super::*;

fn too_long() -> Answer {
    refuses("400 Bad Request", "", "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum")
}

#[test]
fn a_conversation_that_is_too_long_is_compacted_once() {
    run(async {
        let read = call("read_file", json!({ "path": "a.txt" }));
        let server = Server::of(vec![says(&[read]), too_long(), too_long(), says(&[text("short")]), says(&[post("on")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(server.requests().len(), 5, "the summary was too long itself, and was asked of half");
        let server = Server::of(vec![too_long(), says(&[text("short")]), too_long(), says(&[post("anew")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert!(matches!(stage.perform("t1").await, Outcome::Failed(why) if why.contains("too long")));
        assert_eq!(stage.perform("t2").await, Outcome::Posted);
        assert!(!told(&server.requests()[3].1).contains("turn t1"), "a conversation that cannot go on begins anew");
    });
}

#[test]
fn what_the_provider_does_not_take_fails_the_turn() {
    run(async {
        let server = Server::of(vec![refuses("400 Bad Request", "", "invalid_request_error", "temperature: no"), says(&[post("on")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert!(matches!(stage.perform("t1").await, Outcome::Failed(why) if why.contains("temperature: no")));
        assert!(stage.thinker.run.limits.all().unwrap().is_empty(), "that is no limit");
        assert_eq!(stage.perform("t2").await, Outcome::Posted);
        let server = Server::of(vec![stops(&[text("I cannot.")], "refusal", 100)]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert!(matches!(stage.perform("t1").await, Outcome::Failed(why) if why.contains("refused")));
    });
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again_and_nothing_of_it_is_run() {
    // Before, in and after a call.
    let whole = events(&[text("x"), call("notify", json!({ "to": "bob", "text": "hello" }))], "tool_use", 100);
    for end in [1, 2, 5, 6, whole.len() - 2] {
        for how in [End::Cut, End::Whole] {
            run(async {
                let broken = Answer::stream(vec![sse(&whole[..end]).into_bytes()], how);
                let server = Server::of(vec![broken, says(&[post("on")])]).await;
                let stage = Stage::new("writes: true", &[&server.url]);
                assert_eq!(stage.perform("t1").await, Outcome::Posted, "{end}");
                assert_eq!((server.requests().len(), stage.others.notified.borrow().len()), (2, 0), "{end}");
                assert!(stage.log("t1").contains("begins anew"));
            });
        }
    }
}

#[test]
fn errors_in_a_stream_and_words_that_are_none() {
    let begun = events(&[text("x")], "end_turn", 100);
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let answers = [
        [sse(&begun[..3]), sse(&[error])].concat(),
        [sse(&begun[..3]), "data: {\"type\": \"content_bl\n\n".to_owned()].concat(),
        "<html>hello</html>".to_owned(),
    ];
    for broken in answers {
        run(async {
            let server = Server::of(vec![Answer::stream(vec![broken.clone().into_bytes()], End::Whole), says(&[post("on")])]).await;
            let stage = Stage::new("writes: true", &[&server.url]);
            assert_eq!(stage.perform("t1").await, Outcome::Posted, "{broken}");
            assert_eq!(server.requests().len(), 2, "{broken}");
        });
    }
}

#[test]
fn a_provider_that_pauses_and_blocks_that_nobody_knows() {
    run(async {
        let mut strange = events(&[post("on")], "tool_use", 100);
        strange.insert(1, json!({ "type": "content_block_start", "index": 9, "content_block": { "type": "hologram", "data": "?" } }));
        strange.insert(2, json!({ "type": "content_block_stop", "index": 9 }));
        strange.insert(3, json!({ "type": "ping" }));
        let server = Server::of(vec![stops(&[text("Wait.")], "pause_turn", 100), Answer::events(&strange)]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert!(told(&server.requests()[1].1).contains("Go on."));
    });
}

#[test]
fn a_host_that_is_not_there() {
    run(async {
        // Nobody listens there; and a name that no resolver knows.
        for url in ["http://127.0.0.1:1", "http://nobody.invalid"] {
            let stage = Stage::new("writes: true", &[url]);
            let Outcome::Limited { until: Some(_), why } = stage.perform("t1").await else { panic!("{url}") };
            assert!(why.contains("not reached"), "{why}");
        }
    });
}
