use crate::scratch::*;
use ::board::task::*;
use ::board::transition::{By, Ending};
use ::board::*;
#[test]
fn try_it() {
    let scratch = Scratch::new(Durability::Relaxed);
    let mut boards = [scratch.seen(), scratch.seen()];
    let mut ann = boards[0].enter(&name("ann"), "").unwrap();
    add(&mut boards[0], &[r#"{"subject":"x"}"#]);
    let old = scratch.text("1");
    boards[1].look().unwrap();
    let t2 = take(&mut boards[1], Some(&mut ann), "ann", "1");
    boards[0].look().unwrap();
    end(&mut boards[0], "1", &By::Cleaner { turn: &t2.turn }, &Ending::of(Outcome::Lost)).unwrap();
    boards[1].look().unwrap();
    let t5 = take(&mut boards[0], Some(&mut ann), "ann", "1");
    boards[1].look().unwrap();
    for _ in 0..3 {
        add(&mut boards[0], &[r#"{"subject":"x"}"#]);
        boards[1].look().unwrap();
    }
    let _ = t5;
    eprintln!("{:?}", ann.holds());
    std::fs::write(scratch.path().join("b"), &old).unwrap();
    std::fs::rename(scratch.path().join("b"), scratch.file("1")).unwrap();
    boards[0].sweep_for_all(std::time::Duration::ZERO).unwrap();
    eprintln!("{}", scratch.text("1"));
}
