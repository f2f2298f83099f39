//! A turn that goes as it should.

use super::*;

#[test]
fn from_the_opening_to_the_first_post() {
    run(async {
        let read = call("read_file", json!({ "path": "a.txt" }));
        let server = Server::of(vec![says(&[text("I look."), read.clone(), read]), says(&[text("Done."), post("it is mended")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.posts(), ["it is mended"]);
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        let first = told(&requests[0].1);
        assert!(first.contains("<identity>You are 'alice', role: coder") && first.contains("Mend it. (turn t1)"), "{first}");
        assert!(requests[0].1["system"].to_string().contains("Be brief."));
        assert!(told(&requests[1].1).matches("content of a").count() == 2, "{}", told(&requests[1].1));
        let log = stage.log("t1");
        for part in ["I look.\n", "> read_file {\"path\":\"a.txt\"}", "Done.\n", "> post {"] {
            assert!(log.contains(part), "{part} in {log}");
        }
        let calls = stage.calls();
        let sums: (u64, u64) = (calls.iter().map(|call| call.input_tokens).sum(), calls.iter().map(|call| call.output_tokens).sum());
        assert_eq!((calls.len(), sums, calls[0].turn.as_str(), calls[0].teammate.as_str()), (2, (200, 20), "t1", "alice"));
        assert!(!stage.written().contains(KEY), "the key is in no file");
    });
}

#[test]
fn what_a_model_says_is_shown_as_it_comes() {
    run(async {
        let begun = sse(&events(&[text("I look.")], "end_turn", 100)[..3]);
        let server = Server::of(vec![Answer::stream(vec![begun.into_bytes()], End::Never)]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        let log = stage.thinker.workplace.place().turn_log("t1");
        let shown = async {
            while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains("I look.")) {
                tokio::task::yield_now().await;
            }
            "seen".to_owned()
        };
        assert_eq!(stage.thinker.perform(&stage.turn("t1"), shown).await, Outcome::CutShort("seen".into()));
    });
}

#[test]
fn a_conversation_goes_on_from_turn_to_turn() {
    run(async {
        let server = Server::of(vec![says(&[post("one")]), says(&[post("two")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.perform("t2").await, Outcome::Posted);
        let second = told(&server.requests()[1].1);
        assert!(second.contains("turn t1") && second.contains("It is post 7.") && second.contains("turn t2"), "{second}");
    });
}

#[test]
fn the_first_post_of_an_answer_counts_and_ends_the_turn() {
    run(async {
        let notify = call("notify", json!({ "to": "bob", "text": "hello" }));
        let server = Server::of(vec![says(&[notify.clone(), post("one"), post("two"), notify])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!((stage.posts(), stage.others.notified.borrow().len()), (vec!["one".to_owned()], 1));
        let minds = stage.thinker.minds.borrow();
        let last = format!("{:?}", minds[0].conversation.as_ref().unwrap().messages().last().unwrap());
        assert_eq!(last.matches("This was not run: your turn ended with your post.").count(), 2, "{last}");
    });
}

#[test]
fn a_post_that_is_refused_ends_nothing() {
    run(async {
        let server = Server::of(vec![says(&[post("talk"), call("read_file", json!({ "path": "a.txt" }))]), says(&[post("again")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        stage.others.refused.set(1);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.posts(), ["again"]);
        let second = told(&server.requests()[1].1);
        assert!(second.contains("only work_done is accepted now") && second.contains("content of a"), "what stands behind it is run: {second}");
    });
}

#[test]
fn calls_that_cannot_be_run_are_answered() {
    run(async {
        let broken = json!({ "type": "tool_use", "name": "read_file", "raw": "{\"path\": " });
        let wrong = [call("read_file", json!({ "file": "a.txt" })), call("reed_file", json!({})), broken];
        let server = Server::of(vec![says(&wrong), says(&[post("so be it")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        let second = told(&server.requests()[1].1);
        for part in ["unknown field `file`", "\\\\\"required\\\\\"", "did you mean", "they are no JSON object"] {
            assert!(second.contains(part) || second.contains(&part.replace("\\\\", "\\")), "{part} in {second}");
        }
    });
}

#[test]
fn a_turn_without_a_post_is_silent() {
    run(async {
        let cut = json!({ "type": "tool_use", "name": "post", "raw": "{\"kind\": \"say\", \"te" });
        let server = Server::of(vec![
            says(&[text("I am done.")]),
            says(&[call("idle", json!({}))]),
            says(&[]),
            stops(&[cut], "max_tokens", 100),
            stops(&[text("and so")], "max_tokens", 100),
            says(&[post("at last")]),
        ])
        .await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Silent("its model stopped without a post".into()));
        assert_eq!(stage.perform("t2").await, Outcome::Silent("its model had nothing more to do (idle)".into()));
        assert_eq!(stage.perform("t3").await, Outcome::Silent("its model answered nothing".into()));
        assert_eq!(stage.perform("t4").await, Outcome::Posted);
        let requests = server.requests();
        assert!(told(&requests[4].1).contains("cut off"), "in the middle of a call: {}", told(&requests[4].1));
        assert!(told(&requests[5].1).contains("Go on, in smaller steps."));
    });
}

#[test]
fn a_turn_has_so_many_calls() {
    run(async {
        let look = || says(&[call("read_file", json!({ "path": "a.txt" }))]);
        let server = Server::of(vec![look(), look(), look()]).await;
        let stage = Stage::new("writes: true\nmaxCalls: 3", &[&server.url]);
        assert!(matches!(stage.perform("t1").await, Outcome::Silent(how) if how.contains("3 times")));
        assert_eq!(server.requests().len(), 3);
    });
}

#[test]
fn messages_come_between_calls_and_are_gone_after_the_post() {
    run(async {
        let server = Server::of(vec![says(&[text("Hm.")]), says(&[call("notify", json!({ "to": "bob", "text": "x" }))]), says(&[post("read")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        stage.inbox.send("bob", board::inbox::Kind::Say, "look at b", clock::now()).unwrap();
        assert!(matches!(stage.perform("t1").await, Outcome::Silent(_)));
        assert!(!stage.inbox.is_empty(), "no post has ended the turn that read it");
        assert_eq!(stage.perform("t2").await, Outcome::Posted);
        assert!(stage.inbox.is_empty());
        let requests = server.requests();
        assert!(told(&requests[0].1).contains("From bob:\\n    look at b"), "{}", told(&requests[0].1));
        assert!(told(&requests[1].1).contains("(again: the turn that read it was cut short)"));
    });
}

#[test]
fn three_times_in_a_row_compacted_it_still_knows_who_it_is() {
    run(async {
        let full = || stops(&[call("read_file", json!({ "path": "a.txt" }))], "tool_use", 9_000);
        let summary = |number: usize| says(&[text(&format!("summary {number}: a was read"))]);
        let server = Server::of(vec![full(), summary(1), full(), summary(2), full(), summary(3), says(&[post("still alice")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.posts(), ["still alice"]);
        let requests = server.requests();
        for (request, number) in [(2, 1), (4, 2), (6, 3)] {
            let messages = requests[request].1["messages"].as_array().unwrap();
            assert_eq!(messages.len(), 1, "{messages:?}");
            let first: Vec<&str> = messages[0]["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
            assert!(first[0].starts_with("<identity>You are 'alice', role: coder"), "{first:?}");
            assert!(first[1].contains(&format!("summary {number}:")) && first[2] == "Mend it. (turn t1)", "{first:?}");
        }
        let saved = std::fs::read_dir(stage.thinker.workplace.place().state().join("transcripts")).unwrap().count();
        assert_eq!(saved, 3);
        assert_eq!(stage.calls().len(), 7, "summaries cost too");
    });
}

#[test]
fn a_model_can_ask_to_be_compacted() {
    run(async {
        let server =
            Server::of(vec![says(&[call("compact", json!({ "focus": "the parser" })), post("not yet")]), says(&[text("short")]), says(&[post("on")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.posts(), ["on"]);
        let requests = server.requests();
        assert!(told(&requests[1].1).contains("keep above all: the parser"));
        assert!(told(&requests[2].1).contains("short") && !told(&requests[2].1).contains("not yet"));
    });
}

#[test]
fn a_cancel_at_any_point_leaves_a_valid_conversation() {
    // After each chunk of an answer of three calls, and in the middle of the second call of the model.
    for cut in 0..8 {
        run(async {
            let read = call("read_file", json!({ "path": "a.txt" }));
            let chunks: Vec<Vec<u8>> = events(&[text("I look."), read.clone(), read], "tool_use", 100).chunks(2).map(|part| sse(part).into_bytes()).collect();
            let mut answers = vec![Answer::stream(chunks.iter().take(cut).cloned().collect(), End::Never)];
            if cut >= chunks.len() {
                answers = vec![Answer::stream(chunks, End::Whole), Answer::stream(Vec::new(), End::Never)];
            }
            answers.push(says(&[post("later")]));
            let server = Server::of(answers).await;
            let stage = Stage::new("writes: true", &[&server.url]);
            let asked = |times: usize| {
                let requests = || server.requests().len();
                async move {
                    while requests() < times {
                        tokio::task::yield_now().await;
                    }
                    "a person has stopped it".to_owned()
                }
            };
            let times = if cut >= 6 { 2 } else { 1 };
            let outcome = stage.thinker.perform(&stage.turn("t1"), asked(times)).await;
            assert_eq!(outcome, Outcome::CutShort("a person has stopped it".into()), "{cut}");
            assert_eq!(stage.perform("t2").await, Outcome::Posted, "{cut}");
        });
    }
}

#[test]
fn what_a_call_took_that_was_cut_short_is_put_down() {
    run(async {
        let begun = sse(&events(&[text("I look.")], "end_turn", 50_000)[..3]);
        let server = Server::of(vec![Answer::stream(vec![begun.into_bytes()], End::Never)]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        let log = stage.thinker.workplace.place().turn_log("t1");
        let seen = async {
            while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains("I look.")) {
                tokio::task::yield_now().await;
            }
            "stopped".to_owned()
        };
        assert_eq!(stage.thinker.perform(&stage.turn("t1"), seen).await, Outcome::CutShort("stopped".into()));
        assert_eq!(stage.calls().iter().map(|call| call.input_tokens).collect::<Vec<_>>(), [50_000]);
    });
}

#[test]
fn an_answer_has_so_many_calls() {
    run(async {
        let many: Vec<Value> = (0..250).map(|_| call("notify", json!({ "to": "bob", "text": "x" }))).collect();
        let server = Server::of(vec![says(&many), says(&[post("on")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.others.notified.borrow().len(), 200);
        assert!(told(&server.requests()[1].1).contains("50 more calls of your answer were not run"));
    });
}
