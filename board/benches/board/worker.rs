//! The processes that claim side by side, and how they are told when to.
//!
//! A worker reads lines: `look` (see what changed, answer `ok`), `go START STOP` (claim from START to STOP, both in
//! nanoseconds of the monotonic clock, and answer `done COUNT LAST ID,ID,…`). It ends with its input.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use board::Board;
use board::task::Outcome as Ended;
use board::transition::{By, Ending};

use crate::ground::{PATIENCE, Project, Teammate};
use crate::measure::{Outcome, monotonic};
use crate::raw::RawDir;
use crate::sqlite::Queue;

/// What a worker does once it is told to go.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Claims from the board.
    Board,
    /// Claims and finishes, with the board's durability.
    BoardWhole,
    /// Claims by read and rename, without a lock: the control.
    Lockless,
    /// Claims from SQLite, `synchronous=NORMAL`.
    SqliteNormal,
    /// The same with `FULL`.
    SqliteFull,
    /// Claims and finishes with `FULL`.
    SqliteFullWhole,
}

const KINDS: [(&str, Kind); 6] = [
    ("board", Kind::Board),
    ("board-whole", Kind::BoardWhole),
    ("lockless", Kind::Lockless),
    ("sqlite-normal", Kind::SqliteNormal),
    ("sqlite-full", Kind::SqliteFull),
    ("sqlite-full-whole", Kind::SqliteFullWhole),
];

// ---- the measuring side -----------------------------------------------------------------------------------------

/// Workers on one board (or database).
pub(crate) struct Crowd {
    workers: Vec<Worker>,
}

struct Worker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// What a burst of claims brought.
pub(crate) struct Burst {
    /// Claims a second, of all together.
    pub(crate) rate: f64,
    /// The ids that were claimed, with repetitions.
    pub(crate) ids: Vec<String>,
}

impl Crowd {
    /// Starts so many workers; each has seen the board and claimed once.
    pub(crate) fn start(kind: Kind, root: &Path, count: usize) -> Outcome<Crowd> {
        let word = KINDS.iter().find(|(_, known)| std::mem::discriminant(known) == std::mem::discriminant(&kind)).map_or("", |(word, _)| word);
        let mut crowd = Crowd { workers: Vec::with_capacity(count) };
        for number in 0..count {
            let mut child = Command::new(std::env::current_exe()?)
                .args(["worker", word])
                .arg(root)
                .arg(format!("w{number}"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let (to, from) = (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
            crowd.workers.push(Worker { child, to, from: BufReader::new(from) });
        }
        crowd.workers.iter_mut().try_for_each(|worker| worker.expect("ready").map(drop))?;
        Ok(crowd)
    }

    /// The first `count` of them claim for so long.
    pub(crate) fn burst(&mut self, count: usize, length: Duration) -> Outcome<Burst> {
        for worker in &mut self.workers[..count] {
            writeln!(worker.to, "look")?;
        }
        self.workers[..count].iter_mut().try_for_each(|worker| worker.expect("ok").map(drop))?;
        let start = monotonic() + Duration::from_millis(20);
        let stop = start + length;
        for worker in &mut self.workers[..count] {
            writeln!(worker.to, "go {} {}", start.as_nanos(), stop.as_nanos())?;
        }
        let (mut total, mut last, mut ids) = (0, start, Vec::new());
        for worker in &mut self.workers[..count] {
            let line = worker.expect("done")?;
            let mut words = line.split(' ').skip(1);
            total += words.next().ok_or("no count")?.parse::<u32>()?;
            last = last.max(Duration::from_nanos(words.next().ok_or("no time")?.parse()?));
            ids.extend(words.next().unwrap_or("").split(',').filter(|id| !id.is_empty()).map(str::to_owned));
        }
        // Where the tasks ran out early, the time that they lasted counts.
        Ok(Burst { rate: f64::from(total) / (last.max(start) - start).as_secs_f64(), ids })
    }

    /// Ends them all.
    pub(crate) fn end(self) -> Outcome<()> {
        for mut worker in self.workers {
            drop(worker.to);
            worker.child.wait()?;
        }
        Ok(())
    }
}

impl Worker {
    fn expect(&mut self, word: &str) -> Outcome<String> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let line = line.trim_end();
        if line.split(' ').next() == Some(word) { Ok(line.to_owned()) } else { Err(format!("a worker answered {line:?} instead of {word}").into()) }
    }
}

// ---- the worker's side ------------------------------------------------------------------------------------------

/// Something to claim from.
trait Claims {
    /// Sees what the others did.
    fn look(&mut self) -> Outcome<()>;
    /// Claims the next one.
    fn claim(&mut self) -> Outcome<Option<String>>;
}

/// A worker's whole life: `KIND ROOT NAME`.
pub(crate) fn run(arguments: &[&str]) -> Outcome<()> {
    let [word, root, name] = arguments else { return Err("a worker wants a kind, a directory and a name".into()) };
    let kind = KINDS.iter().find(|(known, _)| known == word).ok_or("no such kind of worker")?.1;
    let project = Project { root: root.into() };
    let mut claims: Box<dyn Claims> = match kind {
        Kind::Board => Box::new(OnBoard::enter(&project, name, false)?),
        Kind::BoardWhole => Box::new(OnBoard::enter(&project, name, true)?),
        Kind::Lockless => Box::new(Lockless::enter(&project, name)?),
        Kind::SqliteNormal => Box::new(Queue::open(Path::new(root), name, "NORMAL", false)?),
        Kind::SqliteFull => Box::new(Queue::open(Path::new(root), name, "FULL", false)?),
        Kind::SqliteFullWhole => Box::new(Queue::open(Path::new(root), name, "FULL", true)?),
    };
    claims.look()?;
    if !matches!(kind, Kind::Lockless) {
        claims.claim()?;
    }
    let mut answers = std::io::stdout();
    writeln!(answers, "ready")?;
    for line in std::io::stdin().lines() {
        let line = line?;
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["look"] => {
                claims.look()?;
                writeln!(answers, "ok")?;
            }
            ["go", start, stop] => {
                let (start, stop) = (Duration::from_nanos(start.parse()?), Duration::from_nanos(stop.parse()?));
                std::thread::sleep(start.saturating_sub(monotonic()));
                let (mut count, mut last, mut ids) = (0, start, Vec::new());
                while last < stop {
                    let Some(id) = claims.claim()? else { break };
                    ids.push(id);
                    let now = monotonic();
                    // One that the end of the burst has overtaken is claimed all the same, but not counted.
                    count += usize::from(now <= stop);
                    last = now;
                }
                writeln!(answers, "done {count} {} {}", last.min(stop).as_nanos(), ids.join(","))?;
            }
            _ => return Err(format!("no such order: {line}").into()),
        }
    }
    Ok(())
}

/// A teammate on a board.
struct OnBoard {
    board: Board,
    teammate: Teammate,
    finishes: bool,
}

impl OnBoard {
    fn enter(project: &Project, name: &str, finishes: bool) -> Outcome<OnBoard> {
        let board = project.open()?;
        let teammate = Teammate::enter(&board, name)?;
        Ok(OnBoard { board, teammate, finishes })
    }
}

impl Claims for OnBoard {
    fn look(&mut self) -> Outcome<()> {
        Ok(self.board.look()?)
    }

    fn claim(&mut self) -> Outcome<Option<String>> {
        let Some(claimed) = self.teammate.claim(&mut self.board)? else { return Ok(None) };
        let id = &claimed.task.id;
        if self.finishes {
            let by = By::Holder { name: self.teammate.name(), turn: Some(&claimed.turn) };
            let ending = Ending::of(Ended::Done);
            let mut locked = self.board.lock(PATIENCE)?;
            locked.end(id, &by, &ending)?;
            locked.unlock()?.settle()?;
        }
        Ok(Some(id.to_string()))
    }
}

/// What goes wrong without a lock: everybody reads that a task is pending, and everybody takes it.
struct Lockless {
    dir: RawDir,
    name: String,
    left: Vec<String>,
}

impl Lockless {
    fn enter(project: &Project, name: &str) -> Outcome<Lockless> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(project.tasks())? {
            let entry = entry?.file_name();
            numbers.extend(entry.to_str().and_then(|file| file.strip_prefix("task_")?.strip_suffix(".json")?.parse::<u64>().ok()));
        }
        numbers.sort_by(|a, b| b.cmp(a));
        Ok(Lockless { dir: RawDir::open(&project.tasks())?, name: name.to_owned(), left: numbers.iter().map(u64::to_string).collect() })
    }
}

impl Claims for Lockless {
    fn look(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn claim(&mut self) -> Outcome<Option<String>> {
        let mut bytes = Vec::new();
        while let Some(id) = self.left.pop() {
            let file = format!("task_{id}.json");
            self.dir.read(&file, &mut bytes)?;
            let text = std::str::from_utf8(&bytes)?;
            if text.contains("\"status\": \"pending\"") {
                let claimed = text.replace("\"pending\"", &format!("\"in_progress\",\n  \"owner\": \"{}\"", self.name));
                self.dir.replace_as(&format!(".temporary.{}", self.name), &file, claimed.as_bytes())?;
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

impl Claims for Queue {
    fn look(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn claim(&mut self) -> Outcome<Option<String>> {
        self.take()
    }
}
