//! A disk that takes the operations of a trace, and says after a power cut at any moment what it might hold.
//!
//! What was synced is there. Of the rest anything may be: a change of names survives or not, as a whole, wherever those
//! before it on the same names do; a file's content is whole, an older one, empty, cut short, or zeros.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use board::disk::trace::Op;

use crate::chance::Chance;

/// One moment of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// Something was done to the disk.
    Did(Op),
    /// Success was reported for what this file says.
    Promised(PathBuf),
}

type Inode = usize;

/// A change of names.
struct Change {
    op: Op,
    /// What its names stand for afterwards, for those that are made or exchanged.
    stands: Vec<(PathBuf, Inode)>,
    /// The changes without which it cannot be.
    needs: Vec<usize>,
    synced: bool,
}

/// A file's content: what was ever written, and how much of it is synced.
#[derive(Default)]
struct Content {
    versions: Vec<Vec<u8>>,
    synced: usize,
}

/// What a name stands for after the cut.
#[derive(Clone)]
enum Node {
    Directory,
    File(Inode),
}

#[derive(Default)]
pub(crate) struct Disk {
    changes: Vec<Change>,
    contents: Vec<Content>,
    /// What the running system sees.
    names: BTreeMap<PathBuf, Inode>,
    /// The last change of each name.
    touched: BTreeMap<PathBuf, usize>,
    /// The syncs of the filesystem that are under way: how much there was at their beginning.
    syncing: Vec<(usize, Vec<usize>)>,
    /// Each name's files, oldest first, with the changes that put them there.
    history: BTreeMap<PathBuf, Vec<(usize, Inode)>>,
    promised: BTreeMap<PathBuf, usize>,
}

fn names_of(op: &Op) -> Vec<&PathBuf> {
    match op {
        Op::MakeDir(path) | Op::Create(path) | Op::Remove(path) | Op::RemoveDir(path) => vec![path],
        Op::Rename(from, to) | Op::Exchange(from, to) => vec![from, to],
        _ => Vec::new(),
    }
}

impl Disk {
    pub(crate) fn take(&mut self, event: &Event) {
        let op = match event {
            Event::Did(op) => op,
            Event::Promised(path) => {
                self.promised.insert(path.clone(), self.history[path].len() - 1);
                return;
            }
        };
        match op {
            Op::Create(path) if self.names.contains_key(path) => {}
            Op::Create(path) => {
                self.contents.push(Content::default());
                self.names.insert(path.clone(), self.contents.len() - 1);
                self.change(op);
            }
            Op::Rename(from, to) => {
                let inode = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), inode);
                self.change(op);
            }
            Op::Exchange(one, other) => {
                let (first, second) = (self.names[one], self.names[other]);
                self.names.extend([(one.clone(), second), (other.clone(), first)]);
                self.change(op);
            }
            Op::Remove(path) => {
                self.names.remove(path);
                self.change(op);
            }
            Op::MakeDir(_) | Op::RemoveDir(_) => self.change(op),
            Op::Write(path, bytes) => self.write(path, |content| *content = bytes.clone()),
            Op::WriteAt(path, offset, bytes) => self.write(path, |content| {
                let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                content.resize(content.len().max(end), 0);
                content[start..end].copy_from_slice(bytes);
            }),
            Op::Truncate(path, length) => self.write(path, |content| content.truncate(*length as usize)),
            Op::SyncFile(path) => {
                let content = &mut self.contents[self.names[path]];
                content.synced = content.versions.len();
            }
            Op::SyncDir(dir) => {
                let inside = |change: &Change| names_of(&change.op).iter().any(|path| path.parent() == Some(dir));
                let synced: Vec<usize> = (0..self.changes.len()).filter(|&at| inside(&self.changes[at])).collect();
                self.sync(synced);
            }
            Op::SyncBegin => self.syncing.push((self.changes.len(), self.contents.iter().map(|content| content.versions.len()).collect())),
            Op::SyncAll => {
                let (changes, versions) = self.syncing.pop().unwrap();
                self.sync((0..changes).collect());
                for (content, versions) in self.contents.iter_mut().zip(versions) {
                    content.synced = content.synced.max(versions);
                }
            }
            Op::Passed(_) => {}
        }
    }

    fn write(&mut self, path: &Path, write: impl FnOnce(&mut Vec<u8>)) {
        let content = &mut self.contents[self.names[path]];
        let mut bytes = content.versions.last().cloned().unwrap_or_default();
        write(&mut bytes);
        content.versions.push(bytes);
    }

    fn change(&mut self, op: &Op) {
        let at = self.changes.len();
        let mut needs = Vec::new();
        for path in names_of(op) {
            needs.extend(self.touched.get(path));
            needs.extend(path.parent().and_then(|parent| self.touched.get(parent)));
            if let Op::RemoveDir(dir) = op {
                needs.extend(self.touched.iter().filter(|(path, _)| path.parent() == Some(dir)).map(|(_, at)| at));
            }
        }
        let stands: Vec<(PathBuf, Inode)> = names_of(op).into_iter().filter_map(|path| Some((path.clone(), *self.names.get(path)?))).collect();
        for (path, inode) in &stands {
            self.history.entry(path.clone()).or_default().push((at, *inode));
        }
        self.touched.extend(names_of(op).into_iter().map(|path| (path.clone(), at)));
        self.changes.push(Change { op: op.clone(), stands, needs, synced: false });
    }

    /// What is synced is so with everything that it needs.
    fn sync(&mut self, mut changes: Vec<usize>) {
        while let Some(at) = changes.pop() {
            let change = &mut self.changes[at];
            if !std::mem::replace(&mut change.synced, true) {
                changes.extend(&change.needs);
            }
        }
    }

    /// The number of the version that a name must at least have after a cut now: the newest that is synced, and
    /// where promises hold the newest that was promised. `None`: it need not be there at all.
    pub(crate) fn least(&self, path: &Path, promises: bool) -> Option<usize> {
        let synced = self.history.get(path)?.iter().rposition(|&(at, inode)| {
            let content = &self.contents[inode];
            self.changes[at].synced && content.synced == content.versions.len()
        });
        synced.max(self.promised.get(path).copied().filter(|_| promises))
    }

    /// Everything that each name ever stood for, oldest first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (&PathBuf, Vec<&[u8]>)> {
        let text = |&(_, inode): &(usize, Inode)| self.contents[inode].versions.last().map_or(&[][..], Vec::as_slice);
        self.history.iter().map(move |(path, history)| (path, history.iter().map(text).collect()))
    }

    /// Cuts the power, and writes what the disk might hold then below another directory.
    pub(crate) fn cut(&self, chance: &mut Chance, project: &Path, to: &Path) {
        let moved = |path: &Path| to.join(path.strip_prefix(project).unwrap());
        let whole = *chance.pick(&[0, 5, 9, 10]);
        for (path, node) in self.surviving(chance) {
            match node {
                Node::Directory => std::fs::create_dir(moved(&path)).unwrap(),
                Node::File(inode) => std::fs::write(moved(&path), self.contents[inode].after(whole, chance)).unwrap(),
            }
        }
    }

    fn surviving(&self, chance: &mut Chance) -> BTreeMap<PathBuf, Node> {
        // Most disks keep the order, and lose only what came last.
        let (ordered, last) = (chance.once_in(3), chance.below(self.changes.len() + 1));
        let share = *chance.pick(&[0, 5, 9, 10]);
        let mut survives: Vec<bool> = Vec::with_capacity(self.changes.len());
        let mut names = BTreeMap::new();
        for (at, change) in self.changes.iter().enumerate() {
            let lucky = if ordered { at < last } else { chance.below(10) < share };
            survives.push(change.synced || (lucky && change.needs.iter().all(|&need| survives[need])));
            if !survives[at] {
                continue;
            }
            match &change.op {
                Op::MakeDir(path) => drop(names.insert(path.clone(), Node::Directory)),
                Op::Rename(from, _) => drop(names.remove(from)),
                Op::Remove(path) | Op::RemoveDir(path) => drop(names.remove(path)),
                _ => {}
            }
            names.extend(change.stands.iter().map(|(path, inode)| (path.clone(), Node::File(*inode))));
        }
        names
    }
}

impl Content {
    /// What of it is there after the cut; what is not synced is whole so many times in ten.
    fn after(&self, whole: usize, chance: &mut Chance) -> Vec<u8> {
        let Some(newest) = self.versions.last() else { return Vec::new() };
        if self.synced == self.versions.len() || chance.below(10) < whole {
            return newest.clone();
        }
        let cut = chance.below(newest.len() + 1);
        match chance.below(4) {
            0 => self.synced.checked_sub(1).map(|synced| self.versions[synced].clone()).unwrap_or_default(),
            1 => newest[..cut].to_vec(),
            2 => vec![0; newest.len()],
            _ => newest[..cut].iter().copied().chain(std::iter::repeat_n(0, newest.len() - cut)).collect(),
        }
    }
}
