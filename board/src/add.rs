//! New tasks: drafts are checked all together, get their ids under the lock, and never replace a file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::board::{Board, Durability};
use crate::clock;
use crate::crash;
use crate::disk::{self, Dir};
use crate::document::{Document, Problem};
use crate::error::{Error, Refusal, Result, Rule};
use crate::graph;
use crate::kept::Kept;
use crate::locked::{LockedBoard, Unlocked};
use crate::side_by_side::in_shares;
use crate::task::Task;
use crate::task_id::{HIGHEST_NUMBER, TaskId};
use crate::turn;

/// A task that is to be added: a document as the format has it. Its `id`, where it names one, is the id that it gets.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The document's text.
    pub text: String,
    /// Where it comes from, for messages: `line 3`, a file's name.
    pub origin: String,
}

/// A draft that is a sound task. There may be very many: no more is kept of it than is needed.
struct Sound<'d> {
    /// The id that it names.
    id: Option<TaskId>,
    blocked_by: Vec<TaskId>,
    blocks: Vec<TaskId>,
    /// The text of its file; without an id where it names none.
    text: String,
    origin: &'d str,
}

impl Sound<'_> {
    /// Prints its file.
    fn print(&self, id: &TaskId, to: &mut String) {
        to.clear();
        let rest = match (&self.id, self.text.strip_prefix('{')) {
            (None, Some(rest)) => rest,
            _ => return to.push_str(&self.text),
        };
        to.push_str("{\n  \"id\": ");
        to.push_str(&serde_json::json!(id).to_string());
        // Every task has a subject, so something follows.
        to.push(',');
        to.push_str(rest);
    }

    fn has_edges(&self) -> bool {
        !self.blocked_by.is_empty() || !self.blocks.is_empty()
    }
}

/// The ids that drafts get, and the highest number that is given out with them.
struct Numbers {
    ids: Vec<TaskId>,
    highest: u64,
}

/// From this many drafts on one listing of the directories costs less than looking for each number.
const LISTED: usize = 1_000;
/// The highest number ever given.
const HIGH_WATERMARK: &str = "high-watermark";

impl Board {
    /// Adds tasks, all or none: a draft that is refused leaves the board as it was. Returns their ids in order.
    ///
    /// `full`: they are on disk when this returns.
    pub fn add(&mut self, drafts: &[Draft], patience: Duration) -> Result<Vec<TaskId>> {
        let checked = in_shares(&mut drafts.iter().collect::<Vec<_>>(), self.threads, |share| share.iter().map(|draft| check(draft)).collect::<Vec<_>>());
        let sound = checked.into_iter().flatten().collect::<Result<Vec<_>>>()?;
        if sound.iter().any(|draft| draft.id.is_some() || draft.has_edges()) {
            // What is refused is refused before anything is made.
            let numbers = self.reserve(&sound)?;
            self.check_edges(&sound, &numbers.ids)?;
        }
        let mut locked = self.lock(patience)?;
        let numbers = locked.board.reserve(&sound)?;
        if sound.iter().any(Sound::has_edges) {
            locked.see()?;
            locked.board.check_edges(&sound, &numbers.ids)?;
        }
        locked.give_out(numbers.highest)?;
        let ids = numbers.ids;
        let kept = locked.kept()?;
        let full = locked.board().durability() == Durability::Full;
        let turn = turn::fresh();
        let mut news: Vec<New<'_>> = sound.iter().zip(&ids).map(|(draft, id)| New { draft, id, turn: &turn }).collect();
        if !full && news.len() == 1 {
            write_all(&kept, &mut news, 1, false)?;
            locked.publish(&kept, &news).inspect_err(|_| remove_all(&kept, &news))?;
            locked.unlock()?.settle()?;
            return Ok(ids);
        }
        // Written and synced without the lock. Named in one go, so that nobody claims a task of an addition that fails.
        let mut settled = vec![locked.unlock()?];
        write_all(&kept, &mut news, self.threads, full)?;
        let named = self.lock(patience).and_then(|mut locked| {
            locked.publish(&kept, &news)?;
            locked.unlock()
        });
        settled.push(named.inspect_err(|_| remove_all(&kept, &news))?);
        Unlocked::settle_all(settled)?;
        Ok(ids)
    }
}

fn check(draft: &Draft) -> Result<Sound<'_>> {
    let refuse = |problem: Problem| Error::NotATask { file: draft.origin.clone(), problem };
    let mut document = Document::parse(draft.text.as_bytes()).map_err(refuse)?;
    let placeholder = TaskId::new("new")?;
    let mut task = Task::read(&placeholder, &document).map_err(refuse)?;
    let id = task.other_id.take().filter(|id| id != placeholder.as_str());
    let id = match (id, document.get("id")) {
        (Some(id), _) => Some(TaskId::new(&id)?),
        (None, Some("\"new\"")) => Some(placeholder),
        (None, _) => None,
    };
    let now = clock::now();
    if document.get("created").is_none_or(|created| created == "null") {
        document.set("created", &now);
    }
    document.set("updated", &now);
    if document.get("status").is_none_or(|status| status == "null") {
        document.set("status", &task.status);
    }
    if task.depends_on.is_none() && !task.blocked_by.is_empty() {
        document.set("dependsOn", &task.blocked_by);
    }
    match &id {
        Some(id) => document.set("id", id),
        // It gets one in front of all others.
        None => document.remove("id"),
    }
    Ok(Sound { id, blocked_by: task.blocked_by, blocks: task.blocks, text: document.pretty(), origin: &draft.origin })
}

/// Writes the tasks beside, and in `full` puts them on disk: one sync a file, or one for many.
fn write_all(kept: &Kept, news: &mut [New<'_>], threads: usize, full: bool) -> Result<()> {
    let each = full && news.len() < disk::MANY_FILES;
    let written = in_shares(news, threads, |share| {
        let mut text = String::new();
        share.iter().try_for_each(|new| new.write(kept, &mut text, each))
    });
    if let Some(e) = written.into_iter().find_map(Result::err) {
        // All or none: what was written goes too.
        remove_all(kept, news);
        return Err(e);
    }
    if full && !each {
        kept.dir.sync_filesystem()?;
    }
    Ok(())
}

/// What was written goes, where it is not on the board.
fn remove_all(kept: &Kept, news: &[New<'_>]) {
    news.iter().for_each(|new| drop(kept.dir.remove(&new.name())));
}

/// A task on its way to the board.
#[derive(Clone, Copy)]
struct New<'d> {
    draft: &'d Sound<'d>,
    id: &'d TaskId,
    /// What tells the files of this addition from those of any other.
    turn: &'d str,
}

impl New<'_> {
    /// Its name beside the board.
    fn name(&self) -> String {
        Kept::prepared(self.turn, self.id)
    }

    fn write(&self, kept: &Kept, text: &mut String, sync: bool) -> Result<()> {
        let name = self.name();
        self.draft.print(self.id, text);
        let written = kept.dir.write_new(&name, text.as_bytes(), 0o666);
        let synced = written.and_then(|file| if sync { disk::sync_file(&file, &kept.dir.join(&name)) } else { Ok(()) });
        match synced {
            // The generation was closed and is gone: what is missing is written under the lock.
            Err(e) if !is_gone(&e) => return Err(e),
            _ => {}
        }
        crash::point("add.written");
        Ok(())
    }
}

fn is_gone(error: &Error) -> bool {
    error.io_kind() == Some(std::io::ErrorKind::NotFound)
}

impl Board {
    /// Gives each draft its id: the one that it names, or the next number above every number ever given.
    fn reserve(&self, sound: &[Sound<'_>]) -> Result<Numbers> {
        let tasks = &self.dirs.tasks;
        let (archive, written) = match self.dirs.ours() {
            Some(ours) => (Some(&ours.archive), ours.dir.read(HIGH_WATERMARK)?),
            None => (None, None),
        };
        let mut taken = BTreeSet::new();
        for draft in sound {
            let Some(id) = &draft.id else { continue };
            let archived = archive.map(|archive| archive.stat(&id.file_name())).transpose()?.flatten();
            if tasks.stat(&id.file_name())?.or(archived).is_some() || !taken.insert(id.clone()) {
                let message = format!("{}: there is a task {id} already; leave the id out to get a fresh one", draft.origin);
                return Err(Refusal::board(Rule::IdTaken, message));
            }
        }
        let written = written.and_then(|text| String::from_utf8(text).ok()?.trim().parse().ok()).filter(|highest| *highest <= HIGHEST_NUMBER);
        let mut highest = match written {
            Some(highest) => highest,
            None => highest_number(tasks, archive)?,
        };
        let many = sound.len() >= LISTED;
        if many {
            highest = highest.max(highest_number(tasks, archive)?);
        }
        let mut ids = Vec::with_capacity(sound.len());
        for draft in sound {
            let id = match &draft.id {
                Some(id) => id.clone(),
                // Above every number that there is, nothing need be looked at but what the drafts name themselves.
                None if many => next_number(&mut highest, &taken)?,
                None => next_free(&mut highest, &taken, tasks, archive)?,
            };
            highest = highest.max(id.number().unwrap_or(0));
            ids.push(id);
        }
        Ok(Numbers { ids, highest })
    }

    /// Refuses edges to oneself, to what does not exist, and those that would close a cycle.
    fn check_edges(&mut self, sound: &[Sound<'_>], ids: &[TaskId]) -> Result<()> {
        if !sound.iter().any(Sound::has_edges) {
            return Ok(());
        }
        self.look()?;
        let fresh: BTreeSet<&TaskId> = ids.iter().collect();
        for (draft, id) in sound.iter().zip(ids) {
            for other in draft.blocked_by.iter().chain(&draft.blocks) {
                if other == id {
                    return Err(Refusal::board(Rule::SelfEdge, format!("{}: it cannot wait for itself", draft.origin)));
                }
                if !fresh.contains(other) && !self.is_known(other) {
                    return Err(Refusal::board(Rule::UnknownId, format!("{}: there is no task {other} to wait for", draft.origin)));
                }
            }
        }
        let mut graph: BTreeMap<TaskId, Vec<TaskId>> = self.index.waiting_graph();
        for (draft, id) in sound.iter().zip(ids) {
            graph.entry(id.clone()).or_default().extend(draft.blocked_by.iter().cloned());
            for dependant in &draft.blocks {
                graph.entry(dependant.clone()).or_default().push(id.clone());
            }
        }
        match graph::cycle_through(&fresh, &graph) {
            Some(cycle) => Err(Refusal::board(Rule::Cycle, format!("these tasks would wait for each other: {}", print_cycle(&cycle)))),
            None => Ok(()),
        }
    }

    /// Whether there is a task of that id, on the board or in the archive.
    pub(crate) fn is_known(&self, id: &TaskId) -> bool {
        let is_in = |dir: &Dir| dir.stat(&id.file_name()).is_ok_and(|stat| stat.is_some());
        self.index.get(id).is_some() || is_in(&self.dirs.tasks) || self.dirs.ours().is_some_and(|ours| is_in(&ours.archive))
    }
}

fn next_number(highest: &mut u64, taken: &BTreeSet<TaskId>) -> Result<TaskId> {
    loop {
        *highest += 1;
        let id = TaskId::new(&highest.to_string())?;
        if id.number().is_none() {
            let message = format!("somebody gave a task the number {HIGHEST_NUMBER}, and there is none above it; give the new task an id of its own");
            return Err(Refusal::board(Rule::IdTaken, message));
        }
        if !taken.contains(&id) {
            return Ok(id);
        }
    }
}

fn next_free(highest: &mut u64, taken: &BTreeSet<TaskId>, tasks: &Dir, archive: Option<&Dir>) -> Result<TaskId> {
    loop {
        let id = next_number(highest, taken)?;
        let archived = archive.map(|archive| archive.stat(&id.file_name())).transpose()?.flatten();
        if tasks.stat(&id.file_name())?.or(archived).is_none() {
            return Ok(id);
        }
        // Somebody dropped files with numbers of their own: go on above all of them.
        *highest = highest_number(tasks, archive)?;
    }
}

impl LockedBoard<'_> {
    /// Remembers the highest number that was ever given out.
    fn give_out(&mut self, highest: u64) -> Result<()> {
        let dirs = Arc::clone(&self.board.dirs);
        let ours = dirs.make_ours()?;
        let (file, path) = (ours.dir.open_record(HIGH_WATERMARK, 0o666)?, ours.dir.join(HIGH_WATERMARK));
        disk::write_at(&file, &path, format!("{highest:>20}\n").as_bytes(), 0)?;
        match self.board.durability {
            Durability::Full => disk::sync_file(&file, &path),
            Durability::Relaxed => Ok(()),
        }
    }

    /// Puts written tasks on the board under their names: all of them, or none.
    fn publish(&mut self, written: &Kept, news: &[New<'_>]) -> Result<()> {
        let dirs = Arc::clone(&self.board.dirs);
        let mut named = 0;
        self.name_each(written, news, &mut named).inspect_err(|_| {
            // They have been there for a moment, and only under the lock: nobody works on them.
            news[..named].iter().for_each(|new| drop(dirs.tasks.remove(&new.id.file_name())));
        })
    }

    fn name_each(&mut self, written: &Kept, news: &[New<'_>], count: &mut usize) -> Result<()> {
        let (dirs, kept) = (Arc::clone(&self.board.dirs), self.kept()?);
        self.names_changed = true;
        let full = self.board.durability() == Durability::Full;
        for new in news {
            let (name, id) = (new.name(), new.id);
            let named = match disk::rename_new(&written.dir, &name, &dirs.tasks, &id.file_name()) {
                // Somebody closed the generation in which it was written, and what lay there is gone.
                Err(e) if is_gone(&e) => {
                    new.write(&kept, &mut String::new(), full)?;
                    disk::rename_new(&kept.dir, &name, &dirs.tasks, &id.file_name())?
                }
                other => other?,
            };
            if !named {
                return Err(Refusal::of(Rule::IdTaken, id, "somebody put a task of that id there at this moment; nothing was added"));
            }
            *count += 1;
            crash::point("add.renamed");
            if self.board.seen {
                self.board.read_again(id);
                self.tell_changed(id);
            } else {
                self.tell_new(id);
            }
        }
        Ok(())
    }
}

/// A cycle as people read it: `8 → 9 → 8`.
pub fn print_cycle(cycle: &[TaskId]) -> String {
    cycle.iter().chain(cycle.first()).map(TaskId::as_str).collect::<Vec<_>>().join(" → ")
}

/// The highest number that a task on the board or in the archive bears.
fn highest_number(tasks: &Dir, archive: Option<&Dir>) -> Result<u64> {
    let names = tasks.names()?.into_iter().chain(archive.map(Dir::names).transpose()?.unwrap_or_default());
    Ok(names.filter_map(|(name, _)| TaskId::of_file(&name)?.ok()?.number()).max().unwrap_or(0))
}
