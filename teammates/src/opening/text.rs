//! An opening for people and models.

use super::{Answer, LONGEST_ANSWER, LONGEST_GOAL, LONGEST_OF_USER, News, Opening, Voice, before, cut, index_line};
use board::post::{Kind, Post};

pub(super) fn of(opening: &Opening<'_>) -> String {
    let parts = [identity(opening), goal(opening), of_user(opening), index(opening.voice, opening.news), answers(opening), plan(opening), moves(opening)];
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| part + "\n").collect::<Vec<_>>().join("\n")
}

fn identity(opening: &Opening<'_>) -> String {
    let Opening { voice, name, role, team, turn, .. } = opening;
    let mut lines = vec![match voice {
        Voice::Commands => format!("You are '{name}', role: {role}, team: {team}. This is your turn {turn}."),
        Voice::Tools => format!("This is your turn {turn} in the thread."),
    }];
    if !opening.others.is_empty() {
        lines.push(format!("The others: {}.", opening.others.join(", ")));
    }
    if opening.after_cut {
        lines.push("Your last turn was cut short: what it wrote into files is still there, and it has no post in the thread.".into());
    }
    if *voice == Voice::Commands {
        lines
            .push(format!("Memory: {} (read it first; `crew memory remember TEXT` adds what a later turn would pay to learn again)", opening.memory.display()));
    }
    lines.join("\n")
}

fn goal(opening: &Opening<'_>) -> String {
    let file = opening.goal_file.display();
    let shown = cut::beginning(opening.goal, LONGEST_GOAL);
    match (shown.trim().is_empty(), shown.len() < opening.goal.len()) {
        (true, _) => String::new(),
        (false, false) => format!("Goal ({file}):\n{}", indented(shown)),
        (false, true) => format!("Goal ({file}):\n{}\n(cut here; the rest is in that file)", indented(shown)),
    }
}

fn of_user(opening: &Opening<'_>) -> String {
    let part = opening.news.of_user();
    let mut lines: Vec<String> = part.shown.iter().map(|post| message(opening.voice, post)).collect();
    if part.older > 0 {
        lines.insert(0, format!("{} before these; `{}` prints them", messages(part.older), opening.voice.thread_since(part.since)));
    }
    headed("The user says:", lines)
}

fn message(voice: Voice, post: &Post) -> String {
    let shown = cut::beginning(&post.text, LONGEST_OF_USER);
    let cut = match shown.len() < post.text.len() {
        true => format!("\n(cut after {LONGEST_OF_USER} characters; `{}` prints all of it)", voice.thread_since(before(post))),
        false => String::new(),
    };
    format!("#{}\n{}{cut}", post.seq, indented(shown))
}

fn messages(count: usize) -> String {
    match count {
        1 => "1 message of the user".into(),
        count => format!("{count} messages of the user"),
    }
}

/// The posts that are new, a line each.
pub(crate) fn index(voice: Voice, news: News<'_>) -> String {
    let part = news.of_others();
    let mut lines: Vec<String> = part.shown.iter().map(|post| index_line(post)).collect();
    if part.older > 0 {
        let posts = if part.older == 1 { "post" } else { "posts" };
        lines.insert(0, format!("{} {posts} before these; `{}` prints them", part.older, voice.thread_since(part.since)));
    }
    if let Some(first) = part.shown.first() {
        lines.push(format!("`{}` prints these whole", voice.thread_since(before(first))));
    }
    headed("New in the thread:", lines)
}

fn answers(opening: &Opening<'_>) -> String {
    let (shown, older) = opening.answers();
    let mut lines: Vec<String> = shown.iter().map(answer).collect();
    if older > 0 {
        lines.insert(0, format!("{older} before these are left out"));
    }
    headed("Answers to what you told the user:", lines)
}

fn answer(answer: &Answer<'_>) -> String {
    let short = |text| cut::one_line(text, LONGEST_ANSWER);
    format!("notice {}: {}\n    answer: {}", answer.id, short(answer.notice), short(answer.answer))
}

fn plan(opening: &Opening<'_>) -> String {
    if opening.planning { opening.voice.planning() } else { String::new() }
}

fn moves(opening: &Opening<'_>) -> String {
    of_kinds(opening.voice, opening.kinds(), opening.restricted.map(|restricted| restricted.why))
}

/// How a turn moves of which all is accepted.
pub(crate) fn moves_of(voice: Voice) -> String {
    of_kinds(voice, &Kind::ALL, None)
}

fn of_kinds(voice: Voice, kinds: &[Kind], why: Option<&str>) -> String {
    let mut lines = vec![format!("End your turn with one post, and no second one: `{}`", voice.post())];
    lines.extend(why.map(|why| format!("Only these are accepted now: {why}")));
    lines.extend(kinds.iter().map(|kind| format!("  {:<9}  {}", kind.as_str(), voice.meaning(*kind))));
    lines.join("\n")
}

fn headed(head: &str, lines: Vec<String>) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("{head}\n{}", lines.join("\n")),
    }
}

/// Others' lines, so that none of them looks like one of ours.
pub(crate) fn indented(text: &str) -> String {
    cut::block(text.trim_end()).lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
