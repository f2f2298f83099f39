use board::post::USER;

use super::*;

fn post(seq: u64, from: &str, text: &str) -> Post {
    Post {
        seq,
        from: from.into(),
        kind: Kind::Say,
        text: text.into(),
        handoff: None,
        ts: None,
        turn: None,
        task: None,
        credited: None,
        re: None,
        decision: None,
        message: None,
    }
}

fn opening<'a>(posts: &'a [Post]) -> Opening<'a> {
    Opening {
        voice: Voice::Commands,
        name: "alice",
        role: "coder",
        team: "my-team",
        others: &["bob"],
        turn: "t-1",
        after_cut: false,
        news: News { posts, ..News::default() },
        answers: &[],
        planning: false,
        restricted: None,
        memory: Path::new("/p/.crew/memory.md"),
        goal_file: Path::new("/p/.crew/goal.md"),
        goal: "",
    }
}

/// The lines below a head, up to the next blank line.
fn below(text: &str, head: &str) -> Vec<String> {
    text.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn who_it_is_and_how_it_moves() {
    let text = opening(&[]).text();
    let expected = "\
You are 'alice', role: coder, team: my-team. This is your turn t-1.
The others: bob.
Memory: /p/.crew/memory.md (read it first; `crew memory remember TEXT` adds what a later turn would pay to learn again)

End your turn with one post, and no second one: `crew post --kind KIND [--handoff NAME] TEXT`
  say        talk; with --handoff user it asks the user, and the run stops until there is an answer
";
    assert!(text.starts_with(expected), "{text}");
    assert!(Kind::ALL.iter().all(|kind| text.contains(&format!("\n  {kind} "))), "{text}");
    assert!(!text.contains("cut short") && !text.contains("This turn plans."));
    let plans = Opening { planning: true, ..opening(&[]) };
    assert!(plans.text().contains("\n\nThis turn plans. ") && plans.json()["planning"] == true, "{}", plans.text());
    let cut = Opening { after_cut: true, goal: "Make it.\n\nWell.\n", ..opening(&[]) };
    assert!(cut.text().contains("\nYour last turn was cut short: "), "{}", cut.text());
    assert!(cut.text().contains("\n\nGoal (/p/.crew/goal.md):\n    Make it.\n    \n    Well.\n\n"), "{}", cut.text());
    assert_eq!((&cut.json()["afterCut"], &cut.json()["turn"]), (&true.into(), &"t-1".into()));
}

#[test]
fn only_what_is_accepted_is_offered() {
    let restricted = Restricted { kinds: &[Kind::WorkDone, Kind::Say], why: "six turns brought no work; a say goes to the user" };
    let opening = Opening { restricted: Some(restricted), ..opening(&[]) };
    let text = opening.text();
    assert!(text.contains("\nOnly these are accepted now: six turns brought no work; a say goes to the user\n"), "{text}");
    let offered: Vec<&Kind> = Kind::ALL.iter().filter(|kind| text.contains(&format!("\n  {kind} "))).collect();
    assert_eq!(offered, [&Kind::Say, &Kind::WorkDone]);
    assert_eq!(opening.json()["post"]["kinds"], serde_json::json!(["work_done", "say"]));
}

#[test]
fn the_index_has_the_last_eight_and_the_call_for_the_rest() {
    for (count, older) in [(1, 0), (8, 0), (9, 1), (20, 12)] {
        let posts: Vec<Post> = (1..=count).map(|n| post(n + 100, "bob", &format!("number {n}"))).collect();
        let lines = below(&opening(&posts).text(), "New in the thread:");
        let shown: Vec<&String> = lines.iter().filter(|line| line.starts_with('#')).collect();
        assert_eq!(shown.len() as u64, count.min(8));
        assert_eq!(shown.last().unwrap().as_str(), format!("#{} bob say: number {count}", count + 100));
        let counted = lines.iter().find(|line| line.contains("before these"));
        let expected = match older {
            0 => None,
            1 => Some("1 post before these; `crew thread --since 100` prints them".to_owned()),
            older => Some(format!("{older} posts before these; `crew thread --since 100` prints them")),
        };
        assert_eq!(counted, expected.as_ref());
        let first = 100 + count.saturating_sub(8);
        assert_eq!(lines.last().unwrap().as_str(), format!("`crew thread --since {first}` prints these whole"));
    }
    // Those that the caller left out are counted from where the teammate stopped reading.
    let posts = [post(50, "bob", "x")];
    let news = News { posts: &posts, older: 30, older_of_user: 2, cursor: 17 };
    let opening = Opening { news, ..opening(&[]) };
    assert_eq!(below(&opening.text(), "New in the thread:")[0], "30 posts before these; `crew thread --since 17` prints them");
    assert_eq!(below(&opening.text(), "The user says:"), ["2 messages of the user before these; `crew thread --since 17` prints them"]);
    assert_eq!(opening.json()["thread"]["older"], serde_json::json!({ "count": 30, "read": "crew thread --since 17" }));
}

#[test]
fn a_line_of_the_index_has_at_most_ninety_characters() {
    let prefix = "#7 bob say: ".len();
    for (length, cut) in [(LONGEST_LINE - prefix, false), (LONGEST_LINE - prefix + 1, true), (60_000, true)] {
        let line = index_line(&post(7, "bob", &"é".repeat(length)));
        assert_eq!((line.chars().count(), line.ends_with('…')), (LONGEST_LINE, cut));
    }
    let handed = Post { kind: Kind::WorkDone, credited: Some(false), handoff: Some("carol".into()), ..post(7, "bob", " a\nb\u{1b}[2J\n") };
    assert_eq!(index_line(&handed), "#7 bob work_done, not credited to carol: a b\\u{1b}[2J");
    let flags = index_line(&post(7, "bob", &"🇩🇪".repeat(90)));
    assert_eq!(flags, format!("#7 bob say: {}…", "🇩🇪".repeat((LONGEST_LINE - prefix - 1) / 2)));
}

#[test]
fn what_the_user_says_is_whole_up_to_its_limit() {
    for (length, cut) in [(LONGEST_OF_USER, false), (LONGEST_OF_USER + 1, true)] {
        let posts = [post(5, USER, &"é".repeat(length))];
        let opening = opening(&posts);
        let lines = below(&opening.text(), "The user says:");
        assert_eq!(lines[..2], ["#5".to_owned(), format!("    {}", "é".repeat(LONGEST_OF_USER))]);
        let note = lines.get(2).map(String::as_str);
        assert_eq!(note, cut.then_some("(cut after 4000 characters; `crew thread --since 4` prints all of it)"));
        assert_eq!(opening.json()["user"]["messages"][0]["cut"], cut);
        assert!(!opening.text().contains("New in the thread"), "it is in no index");
    }
    let posts = [post(5, USER, "one\nEnd your turn\u{1b}[2J\r\n\r\ntwo\n")];
    assert!(opening(&posts).text().contains("\n#5\n    one\n    End your turn\\u{1b}[2J\n    \n    two\n\n"), "{}", opening(&posts).text());
    assert_eq!(opening(&posts).json()["user"]["messages"][0]["text"], posts[0].text);
}

#[test]
fn of_the_user_the_last_three_are_shown() {
    for count in [3, 4, 5] {
        let posts: Vec<Post> = (1..=count).flat_map(|n| [post(2 * n, USER, &format!("wish {n}")), post(2 * n + 1, "bob", "yes")]).collect();
        let lines = below(&opening(&posts).text(), "The user says:");
        let shown = lines.iter().filter(|line| line.starts_with("    wish")).count();
        assert_eq!(shown, 3);
        assert!(lines.contains(&format!("    wish {count}")));
        let older = lines[0].clone();
        match count {
            3 => assert_eq!(older, "#2"),
            4 => assert_eq!(older, "1 message of the user before these; `crew thread --since 1` prints them"),
            _ => assert_eq!(older, "2 messages of the user before these; `crew thread --since 1` prints them"),
        }
    }
}

#[test]
fn answers_are_short() {
    let long = "x".repeat(LONGEST_ANSWER + 1);
    let answers: Vec<Answer<'_>> = (1..=10).map(|id| Answer { id, notice: if id == 10 { &long } else { "may I?" }, answer: &long[1..] }).collect();
    let opening = Opening { answers: &answers, ..opening(&[]) };
    let lines = below(&opening.text(), "Answers to what you told the user:");
    assert_eq!(lines[..3], ["2 before these are left out".to_owned(), "notice 3: may I?".to_owned(), format!("    answer: {}", &long[1..])]);
    assert_eq!(lines[15], format!("notice 10: {}…", &long[2..]));
    assert_eq!(opening.json()["answers"]["shown"][7]["notice"], long[1..]);
}

#[test]
fn its_length_does_not_grow_with_the_thread() {
    let measure = |count: u64| {
        let text = |n: u64| "word ".repeat(if n.is_multiple_of(3) { 1000 } else { 30 });
        // The numbers have as many digits whatever the count.
        let posts: Vec<Post> = (1..=count).map(|n| post(1_000_000 - count + n, if n.is_multiple_of(3) { USER } else { "bob" }, &text(n))).collect();
        let goal = "goal ".repeat(10_000);
        let opening = Opening { goal: &goal, ..opening(&posts) };
        (opening.text().len(), opening.json().to_string().len())
    };
    let (few, many) = (measure(18), measure(99_999));
    assert!(many.0 - few.0 < 50 && many.1 - few.1 < 50, "{few:?} {many:?}");
    let bound = MOST_OF_USER * LONGEST_OF_USER + MOST_POSTS * LONGEST_LINE + LONGEST_GOAL + 2000;
    assert!(measure(10).0 < bound && many.0 < bound, "{many:?}");
}
