//! What really lies in files that git converts when it stores them.

use std::path::Path;

use git2::{Index, IndexEntry, Oid};

use crate::tree::{WorkTree, path_of};

type Git<T> = std::result::Result<T, git2::Error>;

/// The tree of an index with every file as it lies there; `None`: nothing is converted. The index is changed to that.
pub(super) fn of(tree: &WorkTree, index: &mut Index) -> Git<Option<Oid>> {
    if !may_convert(tree, index)? {
        return Ok(None);
    }
    let objects = tree.repository.odb()?;
    let mut converted: Vec<IndexEntry> = Vec::new();
    for mut entry in index.iter() {
        let path = tree.root.join(path_of(&entry));
        let Some(file) = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file) else { continue };
        // Line ends and identifiers only ever get shorter.
        if objects.read_header(entry.id).is_ok_and(|(size, _)| size as u64 == file.len()) {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|e| git2::Error::from_str(&format!("cannot read {}: {e}", path.display())))?;
        let id = tree.repository.blob(&bytes)?;
        if id != entry.id {
            entry.id = id;
            converted.push(entry);
        }
    }
    converted.iter().try_for_each(|entry| index.add(entry))?;
    match converted.is_empty() {
        true => Ok(None),
        false => index.write_tree_to(&tree.repository).map(Some),
    }
}

/// Whether anything tells git to convert files.
fn may_convert(tree: &WorkTree, index: &Index) -> Git<bool> {
    let config = tree.repository.config()?;
    let of_user = || git2::Config::find_xdg().ok().is_some_and(|config| config.with_file_name("attributes").exists());
    Ok(config.get_string("core.autocrlf").is_ok_and(|set| set != "false")
        || config.get_string("core.attributesfile").is_ok()
        || tree.repository.commondir().join("info/attributes").exists()
        || of_user()
        || index.iter().any(|entry| path_of(&entry).file_name() == Some(Path::new(".gitattributes").as_os_str())))
}
