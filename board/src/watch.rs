//! Waking: which names in `.tasks/`, and which of a few files elsewhere, just changed.
//!
//! Only what may change a task wakes anybody: creations, writings, moves and removals of `task_*.json`. Opens do
//! not, nor do our own temporaries, which lie elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::error::{Error, Result};
use crate::task_id::TaskId;

/// What events told since they were last taken.
#[derive(Debug, Default)]
pub struct Happened {
    /// Names of task files, each with whether it was only moved there.
    pub tasks: BTreeMap<String, bool>,
    /// Events were lost, or the directory itself changed: a full look is needed.
    pub overflow: bool,
    /// One of the watched files has changed.
    pub files: bool,
}

impl Happened {
    fn is_nothing(&self) -> bool {
        self.tasks.is_empty() && !self.overflow && !self.files
    }
}

/// A watch on a board. Ends when it is dropped.
pub struct Watch {
    _watcher: RecommendedWatcher,
    happened: Arc<Mutex<Happened>>,
}

impl Watch {
    /// Begins to watch `.tasks/` and files elsewhere, in directories that are there; the files need not be. `wake` is
    /// called from another thread for every event that matters, and must be quick.
    ///
    /// An error (no such service, its limit reached) means that only looking again helps.
    pub fn begin(tasks: &Path, files: &[PathBuf], wake: impl Fn() + Send + 'static) -> Result<Watch> {
        let happened = Arc::new(Mutex::new(Happened::default()));
        let fail = |e: notify::Error| Error::io("watch", tasks, std::io::Error::other(e));
        let (noted, directory, named) = (Arc::clone(&happened), tasks.to_path_buf(), files.to_vec());
        let handler = move |event: notify::Result<notify::Event>| {
            let news = sort(event, &directory, &named);
            if !news.is_nothing() {
                let mut happened = noted.lock().unwrap_or_else(PoisonError::into_inner);
                for (name, moved) in news.tasks {
                    // Written and moved: written.
                    happened.tasks.entry(name).and_modify(|only_moved| *only_moved &= moved).or_insert(moved);
                }
                happened.overflow |= news.overflow;
                happened.files |= news.files;
                drop(happened);
                wake();
            }
        };
        let mut watcher = notify::recommended_watcher(handler).map_err(fail)?;
        watcher.watch(tasks, RecursiveMode::NonRecursive).map_err(fail)?;
        for directory in files.iter().filter_map(|file| file.parent()).collect::<BTreeSet<_>>() {
            watcher.watch(directory, RecursiveMode::NonRecursive).map_err(fail)?;
        }
        Ok(Watch { _watcher: watcher, happened })
    }

    /// What happened since this was last asked.
    pub fn take(&self) -> Happened {
        std::mem::take(&mut self.happened.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn sort(event: notify::Result<notify::Event>, tasks: &Path, files: &[PathBuf]) -> Happened {
    let mut news = Happened::default();
    let Ok(event) = event else {
        news.overflow = true;
        return news;
    };
    if event.need_rescan() {
        news.overflow = true;
        return news;
    }
    let moved = match event.kind {
        EventKind::Access(_) | EventKind::Other => return news,
        EventKind::Modify(ModifyKind::Name(_)) => true,
        _ => false,
    };
    for path in event.paths {
        if path == tasks {
            // The directory was removed, moved or unmounted, if it was not only touched.
            news.overflow |= matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        } else if files.contains(&path) {
            news.files = true;
        } else if let Some(name) = task_name(&path, tasks) {
            news.tasks.insert(name, moved);
        }
    }
    news
}

fn task_name(path: &Path, tasks: &Path) -> Option<String> {
    if path.parent() != Some(tasks) {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    TaskId::of_file(name)?.ok()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::Event;
    use notify::event::{AccessKind, CreateKind, DataChange, Flag, RenameMode};

    #[test]
    fn only_what_may_change_a_task_wakes() {
        let (tasks, files) = (Path::new("/b/.tasks"), [PathBuf::from("/s/inbox/bob.jsonl"), "/s/turn.json".into()]);
        let told = |kind: EventKind, path: &str| sort(Ok(Event::new(kind).add_path(path.into())), tasks, &files);
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert!(told(EventKind::Access(AccessKind::Any), "/b/.tasks/task_1.json").is_nothing());
        assert!(told(written, "/b/.tasks/.task_1.json.swp").is_nothing());
        assert!(told(written, "/b/.tasks/task_1.json~").is_nothing());
        assert!(told(written, "/b/.tasks/deep/task_1.json").is_nothing());
        assert!(told(EventKind::Create(CreateKind::File), "/b/.tasks/BOARD.md").is_nothing());
        assert_eq!(told(written, "/b/.tasks/task_1.json").tasks.get("task_1.json"), Some(&false));
        assert_eq!(told(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/b/.tasks/task_a b.json").tasks.get("task_a b.json"), Some(&true));
        assert!(told(written, "/s/inbox/bob.jsonl").files);
        assert!(told(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/s/turn.json").files);
        assert!(told(written, "/s/state.json").is_nothing());
        assert!(told(written, "/s/inbox/alice.jsonl").is_nothing());
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(sort(Ok(lost), tasks, &[]).overflow);
    }
}
