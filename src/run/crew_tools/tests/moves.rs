use board::post::{Kind, SYSTEM};
use board::run::AskKind;

use super::*;

#[test]
fn a_post_ends_the_turn_of_the_thread_once() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    assert_eq!(bench.done(&at, "post", json!({ "kind": "say", "text": "hello\n", "handoff": " bob " })), "This is post 1.");
    let thread = bench.thread();
    assert_eq!((thread[0].from.as_str(), thread[0].kind, thread[0].text.as_str(), thread[0].handoff.as_deref()), ("alice", Kind::Say, "hello", Some("bob")));
    assert_eq!(thread[0].turn.as_ref(), Some(&at.turn));
    bench.refused(&at, "post", json!({ "kind": "say", "text": "again" }), "a turn has one post");
}

#[test]
fn who_posts_and_in_which_turn_is_no_argument() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    for key in ["from", "as", "turn", "task", "credited", "seq", "re", "decision"] {
        bench.refused(&at, "post", json!({ "kind": "say", "text": "x", (key): "bob" }), &format!("unknown field `{key}`"));
        bench.refused(&at, "tell_user", json!({ "text": "x", (key): "bob" }), &format!("unknown field `{key}`"));
        bench.refused(&at, "send_message", json!({ "to": "bob", "text": "x", (key): "bob" }), &format!("unknown field `{key}`"));
    }
    assert!(bench.inbox("bob").is_empty() && bench.run.asks.all().unwrap().is_empty());
}

#[test]
fn a_turn_that_is_over_or_another_s_posts_nothing() {
    let bench = Bench::new();
    let over = bench.thread_turn("alice");
    let of_bob = bench.thread_turn("bob");
    bench.refused(&over, "post", json!({ "kind": "say", "text": "x" }), "is over");
    bench.refused(&At { name: Bench::name("alice"), ..of_bob }, "post", json!({ "kind": "say", "text": "x" }), "bob's turn");
    bench.refused(&over, "tell_user", json!({ "text": "x" }), "is over");
}

#[test]
fn work_is_credited_by_the_tree_alone() {
    let bench = Bench::new();
    for (works, credited) in [(false, false), (true, true)] {
        let at = bench.thread_turn("alice");
        if works {
            bench.work();
        }
        bench.done(&at, "post", json!({ "kind": "work_done", "text": "did it" }));
        assert_eq!(bench.thread().last().unwrap().credited, Some(credited));
    }
    // Where nothing is to be written either: a model has no exit code.
    let reader = Bench::with("writes: false\n");
    let at = reader.thread_turn("alice");
    reader.done(&at, "post", json!({ "kind": "work_done", "text": "did it" }));
    assert_eq!(reader.thread()[0].credited, Some(false));
}

#[test]
fn what_the_turn_does_not_accept_goes_back_to_the_model() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    let thread = bench.run.thread.lock(PATIENCE).unwrap();
    let open = thread.open_turn().unwrap().unwrap();
    let only_work = Some(board::run::OnlyWork { turns: 6, writers: Vec::new() });
    thread.set_open_turn(Some(&OpenTurn { only_work, ..open })).unwrap();
    drop(thread);
    bench.refused(&at, "post", json!({ "kind": "say", "text": "more talk" }), "what is: `work_done`");
    bench.refused(&at, "post", json!({ "kind": "handoff", "text": "?", "handoff": "user" }), "kind say and handoff user");
    bench.done(&at, "post", json!({ "kind": "say", "text": "what now?", "handoff": "user" }));
}

#[test]
fn a_post_on_a_task_is_no_end_of_it() {
    let bench = Bench::new();
    let id = bench.add(json!({}));
    let at = bench.task_turn("alice", &id);
    bench.done(&at, "post", json!({ "kind": "gate", "text": "`git push`?" }));
    let task = bench.task(&id);
    assert_eq!((&task["status"], &task["claim"]["turn"]), (&json!("in_progress"), &json!(at.turn)), "whoever lets the model speak ends its turn");
    let post = bench.thread().remove(0);
    assert_eq!((post.task.as_deref(), post.turn.as_ref()), (Some(id.as_str()), Some(&at.turn)));
    assert_eq!(bench.run.asks.open().unwrap().iter().map(|ask| (ask.id, ask.kind)).collect::<Vec<_>>(), [(post.seq, AskKind::Gate)]);
    bench.refused(&at, "post", json!({ "kind": "say", "text": "again" }), "a turn has one post");
    bench.refused(&at, "tell_user", json!({ "text": "x" }), "a notice comes before it");
}

#[test]
fn a_task_is_handed_to_nobody_who_is_not_there() {
    let bench = Bench::new();
    let id = bench.add(json!({}));
    let at = bench.task_turn("alice", &id);
    bench.refused(&at, "post", json!({ "kind": "handoff", "handoff": "carol" }), "nobody is called carol; there are: alice, bob");
    bench.refused(&at, "post", json!({ "kind": "handoff", "handoff": "system" }), "reserved");
    bench.done(&at, "post", json!({ "kind": "handoff", "handoff": "bob" }));
}

#[test]
fn work_on_a_task_is_shown_by_the_tree_or_by_its_check() {
    let credited = |bench: &Bench, at: &At| {
        bench.done(at, "post", json!({ "kind": "work_done", "text": "did it" }));
        bench.thread().into_iter().rfind(|post| post.from == "alice").unwrap().credited
    };
    let bench = Bench::new();
    let [idle, works] = [(); 2].map(|()| bench.add(json!({})));
    assert_eq!(credited(&bench, &bench.task_turn_with_base("alice", &idle)), Some(false));
    assert!(bench.thread().iter().any(|post| post.from == SYSTEM && post.text.contains("not credited")));
    let at = bench.task_turn_with_base("alice", &works);
    bench.work();
    assert_eq!(credited(&bench, &at), Some(true));
    // In a working tree of its own: what is merged tells.
    let own = bench.add(json!({ "worktree": true }));
    assert_eq!(credited(&bench, &bench.task_turn("alice", &own)), None);

    let reader = Bench::with("writes: false\n");
    let (unchecked, checked) = (reader.add(json!({})), reader.add(json!({ "check": "true" })));
    assert_eq!(credited(&reader, &reader.task_turn("alice", &unchecked)), Some(false), "nothing shows it");
    assert_eq!(credited(&reader, &reader.task_turn("alice", &checked)), None, "its check does");
}

#[test]
fn a_turn_over_messages_neither_posts_nor_tells() {
    let bench = Bench::new();
    bench.thread_turn("alice");
    let at = bench.message_turn();
    bench.refused(&at, "post", json!({ "kind": "say", "text": "x" }), "over messages");
    bench.refused(&at, "tell_user", json!({ "text": "x" }), "over messages");
    bench.refused(&at, "notify", json!({ "to": "user", "text": "x" }), "over messages");
    bench.done(&at, "send_message", json!({ "to": "bob", "text": "x" }));
}

#[test]
fn the_user_is_told_once_a_turn() {
    let bench = Bench::new();
    let id = bench.add(json!({}));
    for (at, task) in [(bench.thread_turn("alice"), None), (bench.task_turn("alice", &id), Some(id.as_str()))] {
        let said = bench.done(&at, "tell_user", json!({ "text": "the disk is nearly full" }));
        let note = bench.thread().pop().unwrap();
        assert!(said.contains(&format!("notice {}", note.seq)), "{said}");
        assert_eq!((note.from.as_str(), note.text.as_str(), note.task.as_deref()), (SYSTEM, "alice tells the user: the disk is nearly full", task));
        let ask = bench.run.asks.open().unwrap().pop().unwrap();
        assert_eq!((ask.id, ask.kind, ask.from.as_str(), ask.text.as_str()), (note.seq, AskKind::Notice, "alice", "the disk is nearly full"));
        bench.refused(&at, "tell_user", json!({ "text": "and more" }), "there is one a turn");
        bench.refused(&at, "notify", json!({ "to": "user", "text": "and more" }), "there is one a turn");
        bench.done(&at, "post", json!({ "kind": "say", "text": "told" }));
    }
}

#[test]
fn a_notice_can_hold_the_browser() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    bench.refused(&at, "tell_user", json!({ "text": "look", "holds": "write" }), "cannot be held");
    bench.done(&at, "tell_user", json!({ "text": "look at the page", "holds": "browser" }));
    let ask = bench.run.asks.open().unwrap().pop().unwrap();
    assert!(ask.is_holding() && ask.holds.as_deref() == Some("browser"), "{ask:?}");
}

#[test]
fn a_notice_in_a_task_s_turn_is_of_who_holds_it() {
    let bench = Bench::new();
    let id = bench.add(json!({}));
    let at = bench.task_turn("alice", &id);
    bench.refused(&At { name: Bench::name("bob"), ..at.clone() }, "tell_user", json!({ "text": "x" }), "alice holds it");
    bench.refused(&At { turn: "another".into(), ..at.clone() }, "tell_user", json!({ "text": "x" }), "is over");
    // One of whoever held it before is none of this turn.
    bench.done(&at, "notify", json!({ "to": "user", "text": "first" }));
    let mut board = bench.workplace.board();
    let mut locked = board.lock(PATIENCE).unwrap();
    let ending = board::transition::Ending::of(board::task::Outcome::Released);
    locked.end(&TaskId::new(&id).unwrap(), &board::transition::By::Force, &ending).unwrap();
    locked.unlock().unwrap().settle().unwrap();
    drop(board);
    bench.done(&bench.task_turn("alice", &id), "tell_user", json!({ "text": "second" }));
    // A kill between the note and the record leaves a notice all the same.
    let last = bench.run.asks.all().unwrap().len();
    bench.run.asks.retain(|ask| ask.text != "second").unwrap();
    let claim = bench.task(&id)["claim"]["turn"].as_str().unwrap().to_owned();
    bench.refused(&At { turn: claim, ..at }, "tell_user", json!({ "text": "third" }), "there is one a turn");
    assert_eq!(bench.run.asks.all().unwrap().len(), last);
}

#[test]
fn words_for_a_teammate_and_for_nobody() {
    let bench = Bench::new();
    let at = bench.thread_turn("alice");
    bench.done(&at, "ask", json!({ "to": "bob", "text": "which port?" }));
    bench.done(&at, "notify", json!({ "to": "bob", "text": "it is 80" }));
    let sent = bench.inbox("bob");
    assert!(sent[0].1.starts_with("which port?") && sent[0].1.contains("`send_message` to alice"), "{sent:?}");
    assert_eq!(sent[1], ("alice".into(), "it is 80".into()));
    bench.refused(&at, "ask", json!({ "to": "user", "text": "which port?" }), "`post` with kind say and handoff user");
    for tool in ["ask", "notify", "send_message"] {
        bench.refused(&at, tool, json!({ "to": "carol", "text": "x" }), "nobody is called carol; there are: alice, bob");
        bench.refused(&at, tool, json!({ "to": "alice", "text": "x" }), "alice is you");
        for reserved in ["system", "audit", "lead", "../bob"] {
            bench.refused(&at, tool, json!({ "to": reserved, "text": "x" }), reserved);
        }
    }
    bench.refused(&at, "send_message", json!({ "to": "user", "text": "x" }), "reserved");
    bench.refused(&at, "notify", json!({ "to": "bob", "text": " " }), "between 1 and");
    bench.refused(&at, "notify", json!({ "to": "bob", "text": "x".repeat((64 << 10) + 1) }), "between 1 and");
    assert_eq!(bench.inbox("bob").len(), 2);
}
