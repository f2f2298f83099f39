//! Limits of providers, and the turn that begins anew with another.

use super::*;

fn limited(after: &str) -> Answer {
    refuses("429 Too Many Requests", &format!("\r\nretry-after: {after}"), "rate_limit_error", "slow down")
}

#[test]
fn a_turn_begins_anew_with_the_next_model_and_does_nothing_twice() {
    run(async {
        let notify = call("notify", json!({ "to": "bob", "text": "hello" }));
        let write = call("write_file", json!({ "path": "b.txt", "content": "half" }));
        let first = Server::of(vec![says(&[notify.clone(), write]), limited("7200")]).await;
        let other = call("notify", json!({ "to": "bob", "text": "more" }));
        let second = Server::of(vec![chat_says(&[notify.clone(), notify, other]), chat_says(&[post("done")])]).await;
        let stage = Stage::new("writes: true", &[&first.url, &second.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(stage.posts(), ["done"]);
        assert_eq!(*stage.others.notified.borrow(), ["hello", "hello", "more"], "what was done is answered once; the second is another message");
        let begun = told(&second.requests()[0].1);
        assert!(begun.contains("<identity>") && begun.contains("Mend it. (turn t1)") && begun.contains("notify {"), "{begun}");
        assert!(told(&second.requests()[1].1).contains("done before your turn began anew"));
        assert!(std::fs::read_to_string(stage.thinker.workplace.place().project().join("b.txt")).unwrap() == "half");
        // The next turn does not ask the first: it is still limited.
        let until = stage.thinker.run.limits.all().unwrap()["account0"].until.unwrap();
        assert!((7190..=7200).contains(&until.duration_since(clock::now()).as_secs()), "{until}");
        assert_eq!(first.requests().len(), 2);
        assert_eq!(stage.calls().iter().map(|call| call.account.as_str()).collect::<Vec<_>>(), ["account0", "account1", "account1"]);
    });
}

#[test]
fn where_all_are_limited_the_first_end_counts() {
    run(async {
        let first = Server::of(vec![limited("7200")]).await;
        let second = Server::of(vec![limited("3600")]).await;
        let stage = Stage::new("writes: true", &[&first.url, &second.url]);
        let Outcome::Limited { until: Some(until), why } = stage.perform("t1").await else { panic!() };
        assert!((3590..=3600).contains(&until.duration_since(clock::now()).as_secs()) && why.contains("slow down"), "{until} {why}");
        let limit = stage.thinker.limit(clock::now()).unwrap().unwrap();
        assert_eq!(limit.until, Some(until));
        assert_eq!(stage.thinker.limit(until).unwrap(), None, "then it can be tried");
        // Nobody is asked meanwhile.
        assert!(matches!(stage.perform("t2").await, Outcome::Limited { .. }));
        assert_eq!(first.requests().len() + second.requests().len(), 2);
        assert!(stage.log("t2").contains("no model can be called before"));
    });
}

#[test]
fn a_limit_that_is_over_soon_is_waited_for() {
    run(async {
        let server = Server::of(vec![limited("0"), says(&[post("on")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert!(stage.thinker.run.limits.all().unwrap().is_empty(), "and lifted when it was answered");
    });
}

#[test]
fn what_time_does_not_mend_waits_for_a_person() {
    let cases = [
        ("401 Unauthorized", "authentication_error", "account0"),
        ("403 Forbidden", "permission_error", "account0"),
        ("402 Payment Required", "billing_error", "account0"),
        ("404 Not Found", "not_found_error", "account0/model0"),
    ];
    for (status, kind, key) in cases {
        run(async {
            let server = Server::of(vec![refuses(status, "", kind, &format!("no good: {KEY}"))]).await;
            let stage = Stage::new("writes: true", &[&server.url]);
            let Outcome::Limited { until: None, why } = stage.perform("t1").await else { panic!("{status}") };
            assert!(!why.contains(KEY) && !stage.written().contains(KEY), "{status}: {why}");
            assert_eq!(stage.thinker.run.limits.all().unwrap().keys().collect::<Vec<_>>(), [key]);
        });
    }
}

#[test]
fn what_cannot_be_reached_is_tried_again_later() {
    run(async {
        let down = || refuses("500 Internal Server Error", "", "api_error", "oops");
        let first = Server::of(vec![down(), down(), down()]).await;
        let second = Server::of(vec![chat_says(&[post("here")])]).await;
        let stage = Stage::new("writes: true", &[&first.url, &second.url]);
        assert_eq!(stage.perform("t1").await, Outcome::Posted);
        assert_eq!(first.requests().len(), 3, "twice again");
        let until = stage.thinker.run.limits.all().unwrap()["account0"].until.unwrap();
        assert!((25..=30).contains(&until.duration_since(clock::now()).as_secs()));
    });
}

#[test]
fn what_was_done_before_all_were_limited_is_not_done_again() {
    run(async {
        let notify = call("notify", json!({ "to": "bob", "text": "hello" }));
        let server = Server::of(vec![says(std::slice::from_ref(&notify)), limited("7200"), says(&[notify]), says(&[post("on")])]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        assert!(matches!(stage.perform("t1").await, Outcome::Limited { .. }));
        stage.thinker.run.limits.discard().unwrap();
        assert_eq!(stage.perform("t2").await, Outcome::Posted);
        assert_eq!(*stage.others.notified.borrow(), ["hello"]);
        assert!(told(&server.requests()[2].1).contains("are not to be done again:\\nnotify {"), "{}", told(&server.requests()[2].1));
    });
}

#[test]
fn a_limit_that_is_always_just_over_is_not_asked_again_at_once() {
    run(async {
        let server = Server::of(vec![limited("0"), limited("0"), limited("0")]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        let Outcome::Limited { until: Some(until), .. } = stage.perform("t1").await else { panic!() };
        assert!(until.duration_since(clock::now()).as_secs() > 20, "{until}");
        let forever = refuses("529 Overloaded", "\r\nretry-after: 9000000000000000000", "overloaded_error", "");
        let server = Server::of(vec![forever]).await;
        let stage = Stage::new("writes: true", &[&server.url]);
        let Outcome::Limited { until: Some(until), .. } = stage.perform("t1").await else { panic!() };
        assert!(until.duration_since(clock::now()).as_secs() > 20, "{until}");
    });
}
