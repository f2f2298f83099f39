//! Whether directories changed while a command ran, where the kernel did not keep it out. It may have been somebody else
//! who changed them: that cannot be told apart.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// So many names are looked at, and said at most.
const MOST: usize = 20_000;
const SAID: usize = 5;

/// What was there: inode, size, and the last change in seconds and nanoseconds.
pub(super) type Look = BTreeMap<PathBuf, (u64, u64, i64, i64)>;

/// Looks at directories, without the board's own one in `.tasks/`, in which its processes write all the time.
pub(super) fn look(dirs: &[PathBuf]) -> Look {
    let (mut look, mut open) = (Look::new(), dirs.to_vec());
    while let Some(path) = open.pop() {
        let Ok(there) = path.symlink_metadata() else { continue };
        if path.ends_with(".tasks/.board") || look.len() >= MOST {
            continue;
        }
        if there.is_dir() {
            open.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            look.insert(path, (there.ino(), 0, 0, 0));
        } else {
            look.insert(path, (there.ino(), there.size(), there.ctime(), there.ctime_nsec()));
        }
    }
    look
}

/// What changed between two looks, in words; `None`: nothing.
pub(super) fn changed(before: &Look, after: &Look) -> Option<String> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let changed: Vec<String> = after
        .iter()
        .filter(|(path, there)| before.get(*path) != Some(there))
        .map(|(path, _)| path)
        .chain(gone)
        .map(|path| path.display().to_string())
        .collect();
    match changed.len() {
        0 => None,
        few @ 1..=SAID => Some(changed.get(..few).unwrap_or_default().join(", ")),
        many => Some(format!("{} and {} more", changed.get(..SAID).unwrap_or_default().join(", "), many - SAID)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_or_changed_is_said() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = [temp.path().join(".tasks"), temp.path().join(".crew")];
        std::fs::create_dir_all(dirs[0].join(".board")).unwrap();
        std::fs::write(dirs[0].join("a"), "1").unwrap();
        let before = look(&dirs);
        std::fs::write(dirs[0].join(".board/x"), "1").unwrap();
        assert_eq!(changed(&before, &look(&dirs)), None, "the board's own files are the board's");
        std::fs::create_dir(&dirs[1]).unwrap();
        std::fs::remove_file(dirs[0].join("a")).unwrap();
        let said = changed(&before, &look(&dirs)).unwrap();
        assert!(said.ends_with(".tasks/a") && said.contains(".crew"), "{said}");
        for number in 0..9 {
            std::fs::write(dirs[1].join(number.to_string()), "").unwrap();
        }
        assert!(changed(&before, &look(&dirs)).unwrap().ends_with("and 6 more"));
    }
}
