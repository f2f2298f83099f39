//! An opening for programs. Cut as the text is; not escaped, since JSON does that.

use serde_json::{Value, json};

use super::{LONGEST_ANSWER, LONGEST_GOAL, LONGEST_OF_USER, Opening, Part, Voice, before, cut, index_line};

pub(super) fn of(opening: &Opening<'_>) -> Value {
    let (of_user, of_others) = (opening.news.of_user(), opening.news.of_others());
    let messages: Vec<Value> = of_user
        .shown
        .iter()
        .map(|post| short(&post.text, LONGEST_OF_USER, json!({ "seq": post.seq, "read": opening.voice.thread_since(before(post)) })))
        .collect();
    let index =
        of_others.shown.iter().map(|post| json!({ "seq": post.seq, "from": post.from, "kind": post.kind, "handoff": post.handoff, "line": index_line(post) }));
    let (answers, older_answers) = opening.answers();
    let answers = answers.iter().map(|answer| {
        let (notice, said) = (cut::beginning(answer.notice, LONGEST_ANSWER), cut::beginning(answer.answer, LONGEST_ANSWER));
        json!({ "id": answer.id, "notice": notice, "answer": said })
    });
    json!({
        "name": opening.name,
        "role": opening.role,
        "team": opening.team,
        "others": opening.others,
        "turn": opening.turn,
        "afterCut": opening.after_cut,
        "planning": opening.planning,
        "memory": opening.memory,
        "goal": short(opening.goal, LONGEST_GOAL, json!({ "file": opening.goal_file })),
        "user": { "messages": messages, "older": older(opening.voice, &of_user) },
        "thread": { "posts": index.collect::<Vec<_>>(), "older": older(opening.voice, &of_others) },
        "answers": { "shown": answers.collect::<Vec<_>>(), "older": older_answers },
        "post": { "call": opening.voice.post(), "kinds": opening.kinds(), "why": opening.restricted.map(|restricted| restricted.why) },
    })
}

/// The object with the beginning of a text in it, and whether that is all.
fn short(text: &str, longest: usize, mut object: Value) -> Value {
    let shown = cut::beginning(text, longest);
    object["text"] = json!(shown);
    object["cut"] = json!(shown.len() < text.len());
    object
}

/// How many are not shown, and what prints them.
fn older(voice: Voice, part: &Part<'_>) -> Value {
    match part.older {
        0 => json!({ "count": 0 }),
        count => json!({ "count": count, "read": voice.thread_since(part.since) }),
    }
}
