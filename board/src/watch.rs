//! Waking: which names in `.tasks/` (and which inbox) just changed.
//!
//! Only what may change a task wakes anybody: creations, writings, moves and removals of `task_*.json`. Opens do
//! not, nor do our own temporaries, which lie elsewhere.

use std::collections::BTreeMap;
use std::path::Path;
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
    /// Something came to the watched inbox.
    pub inbox: bool,
}

impl Happened {
    fn is_nothing(&self) -> bool {
        self.tasks.is_empty() && !self.overflow && !self.inbox
    }
}

/// A watch on a board. Ends when it is dropped.
pub struct Watch {
    _watcher: RecommendedWatcher,
    happened: Arc<Mutex<Happened>>,
}

impl Watch {
    /// Begins to watch `.tasks/` and, where one is given, the inbox file of a teammate. `wake` is called from another
    /// thread for every event that matters, and must be quick.
    ///
    /// An error (no such service, its limit reached) means that only looking again helps.
    pub fn begin(tasks: &Path, inbox: Option<&Path>, wake: impl Fn() + Send + 'static) -> Result<Watch> {
        let happened = Arc::new(Mutex::new(Happened::default()));
        let fail = |e: notify::Error| Error::io("watch", tasks, std::io::Error::other(e));
        let (noted, directory, inbox_file) = (Arc::clone(&happened), tasks.to_path_buf(), inbox.map(Path::to_path_buf));
        let handler = move |event: notify::Result<notify::Event>| {
            let news = sort(event, &directory, inbox_file.as_deref());
            if !news.is_nothing() {
                let mut happened = noted.lock().unwrap_or_else(PoisonError::into_inner);
                for (name, moved) in news.tasks {
                    // Written and moved: written.
                    happened.tasks.entry(name).and_modify(|only_moved| *only_moved &= moved).or_insert(moved);
                }
                happened.overflow |= news.overflow;
                happened.inbox |= news.inbox;
                drop(happened);
                wake();
            }
        };
        let mut watcher = notify::recommended_watcher(handler).map_err(fail)?;
        watcher.watch(tasks, RecursiveMode::NonRecursive).map_err(fail)?;
        if let Some(directory) = inbox.and_then(Path::parent) {
            watcher.watch(directory, RecursiveMode::NonRecursive).map_err(fail)?;
        }
        Ok(Watch { _watcher: watcher, happened })
    }

    /// What happened since this was last asked.
    pub fn take(&self) -> Happened {
        std::mem::take(&mut self.happened.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn sort(event: notify::Result<notify::Event>, tasks: &Path, inbox: Option<&Path>) -> Happened {
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
        } else if inbox == Some(path.as_path()) {
            news.inbox = true;
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
        let (tasks, inbox) = (Path::new("/b/.tasks"), Path::new("/s/inbox/bob.jsonl"));
        let told = |kind: EventKind, path: &str| sort(Ok(Event::new(kind).add_path(path.into())), tasks, Some(inbox));
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert!(told(EventKind::Access(AccessKind::Any), "/b/.tasks/task_1.json").is_nothing());
        assert!(told(written, "/b/.tasks/.task_1.json.swp").is_nothing());
        assert!(told(written, "/b/.tasks/task_1.json~").is_nothing());
        assert!(told(written, "/b/.tasks/deep/task_1.json").is_nothing());
        assert!(told(EventKind::Create(CreateKind::File), "/b/.tasks/BOARD.md").is_nothing());
        assert_eq!(told(written, "/b/.tasks/task_1.json").tasks.get("task_1.json"), Some(&false));
        assert_eq!(told(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/b/.tasks/task_a b.json").tasks.get("task_a b.json"), Some(&true));
        assert!(told(written, "/s/inbox/bob.jsonl").inbox);
        assert!(told(written, "/s/inbox/alice.jsonl").is_nothing());
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(sort(Ok(lost), tasks, None).overflow);
    }
}
