//! Which of the recorded conversations goes on.

use super::*;

#[test]
fn two_tasks_at_a_time_have_a_conversation_each() {
    let (here, there) = (Machine::one(), Machine::other());
    let turns = |machine: &Machine, provider: &dyn Provider| -> Vec<Block> {
        let (mut one, mut two) = (machine.begin("Task 1 in P!"), machine.begin("Task 2 in P!"));
        let mut said = Vec::new();
        for _ in 0..2 {
            for conversation in [&mut one, &mut two] {
                said.extend(call(machine, provider, conversation).unwrap().blocks.pop());
                results(machine, conversation, "exit code 0\n");
            }
        }
        said
    };
    let answers = ["$ls a", "$ls b", "$ls c", "$ls d"];
    turns(&here, &here.recorder(&answers));
    let recorded = here.recorded();
    assert_eq!(turns(&there, &there.player(&recorded)).len(), 4);
    // In another order, and each still gets its own.
    let player = there.player(&recorded);
    let said = |request: &str| {
        let mut conversation = there.begin(request);
        let first = call(&there, &player, &mut conversation).unwrap().blocks.pop();
        results(&there, &mut conversation, "exit code 0\n");
        [first, call(&there, &player, &mut conversation).unwrap().blocks.pop()].map(|block| format!("{block:?}"))
    };
    let [first, second] = said("Task 2 in P!");
    assert!(first.contains("ls b") && second.contains("ls d"), "{first} {second}");
    let [first, second] = said("Task 1 in P!");
    assert!(first.contains("ls a") && second.contains("ls c"), "{first} {second}");
}

/// Two turns of a teammate: in one process, or in two.
fn two_turns(machine: &Machine, provider: &dyn Provider, ended_between: bool) -> Result<Vec<Response>, ProviderError> {
    let mut conversation = machine.begin("Turn 1");
    let first = call(machine, provider, &mut conversation)?;
    results(machine, &mut conversation, "It is post 7.");
    match ended_between {
        true => conversation = machine.begin("Turn 2"),
        false => conversation.ask("Turn 2", None),
    }
    let second = call(machine, provider, &mut conversation)?;
    results(machine, &mut conversation, "It is post 8.");
    conversation.ask("Turn 3", None);
    Ok(vec![first, second, call(machine, provider, &mut conversation)?])
}

#[test]
fn whether_a_process_ended_between_turns_does_not_matter() {
    let answers = ["$post 1", "$post 2", "$post 3"];
    for ended_when_recorded in [false, true] {
        let (here, there) = (Machine::one(), Machine::other());
        two_turns(&here, &here.recorder(&answers), ended_when_recorded).unwrap();
        for ended_when_played in [false, true] {
            let played = two_turns(&there, &there.player(&here.recorded()), ended_when_played).unwrap();
            assert_eq!(played, answers.map(|text| there.answer(text)), "{ended_when_recorded} {ended_when_played}");
        }
    }
}

#[test]
fn a_beginning_that_comes_twice_is_played_in_its_order_and_then_again() {
    let here = Machine::one();
    let begin = |provider: &dyn Provider| call(&here, provider, &mut here.begin(OPENING)).unwrap().blocks.pop();
    let recorder = here.recorder(&["one", "two"]);
    begin(&recorder);
    begin(&recorder);
    drop(recorder);
    // Another process of the same teammate goes on in the file.
    begin(&here.recorder(&["three"]));
    let recorded = here.recorded();
    assert_eq!(recorded.matches("\"format\"").count(), 1);
    let player = here.player(&recorded);
    let played: Vec<Option<Block>> = (0..4).map(|_| begin(&player)).collect();
    assert_eq!(played, ["one", "two", "three", "one"].map(|text| Some(Block::text(text))));
}
