//! The board's verbs: what they say, what they change, and what they leave alone.

mod add;
mod claims;
mod doctor;
mod hostile;
mod list;
mod outside_reader;
mod printed;
mod refused;
mod transitions;
mod wait;

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::scene::{Ran, Scene};

/// Runs `crew` with something on its standard input.
fn fed(scene: &Scene, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("input");
    std::fs::write(&path, input).unwrap();
    let mut command = scene.crew(arguments);
    command.stdin(Stdio::from(std::fs::File::open(&path).unwrap()));
    scene.start(command).ended()
}

/// The objects that a command printed, one a line.
fn objects(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The ids in a list of objects, as text.
fn ids(objects: &[Value]) -> Vec<String> {
    objects.iter().filter_map(|object| object.get("id")).map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned)).collect()
}

/// The ids that `crew ls --ready` shows.
fn ready(scene: &Scene) -> Vec<String> {
    ids(&objects(&scene.run(&["ls", "--ready", "--json"]).succeeded()))
}

/// Every name below a directory, with what it is and holds: to compare byte for byte.
fn snapshot(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let content = if kind.is_dir() {
                open.push(path.clone());
                b"a directory".to_vec()
            } else if kind.is_file() {
                std::fs::read(&path).unwrap()
            } else if kind.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                b"something special".to_vec()
            };
            all.push((path.to_string_lossy().into_owned(), content));
        }
    }
    all.sort();
    all
}
