//! Where teammates and the host of their servers meet: the project's state directory, which is its owner's alone.
//!
//! The host holds a lock for its life, listens on a socket, and says which process it is; its servers record their process
//! groups. So whoever comes after it finds out whether it lives, and ends what it left.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use board::alive::{self, Process};
use board::disk::{self, Dir};
use board::lock::{Held, LockFile, Mode};
use tokio::net::{UnixListener, UnixStream};

use crate::detach::{self, Force};
use crate::group_record;
use crate::leftovers;

const LOCK: &str = "servers.lock";
const SOCKET: &str = "servers.socket";
const PROCESS: &str = "servers.process";
const GROUPS: &str = "servers.groups";

/// Whoever only looks whether the lock is held has it for a moment.
const MOMENT: Duration = Duration::from_millis(250);
/// Between SIGTERM and SIGKILL for a server.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// The same for the host, which ends its servers first.
const GRACE_OF_HOST: Duration = Duration::from_secs(8);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// Takes the host's place for the life of this process. `None`: another one lives.
pub(super) fn take_place(dir: &Dir) -> board::Result<Option<Held>> {
    match LockFile::open(dir, LOCK)?.lock(Mode::Exclusive, MOMENT) {
        Err(board::Error::LockTimeout { .. }) => Ok(None),
        held => held.map(Some),
    }
}

/// Says which process the host is, and returns where its servers are to record themselves. Only with the place taken,
/// and when what an earlier host left is ended.
pub(super) fn sign(dir: &Dir) -> board::Result<File> {
    let path = dir.join(GROUPS);
    let file = dir.open_record(GROUPS, 0o600)?;
    disk::truncate(&file, &path, 0)?;
    disk::write_at(&file, &path, group_record::boot_line(alive::boot()).as_bytes(), 0)?;
    dir.replace(PROCESS, serde_json::json!(Process::current()).to_string().as_bytes(), 0o600, false)?;
    dir.open_append(GROUPS, 0o600)
}

/// The process groups that servers have recorded.
pub(super) fn recorded(dir: &Dir) -> Vec<group_record::Group> {
    let record = dir.read(GROUPS).ok().flatten().unwrap_or_default();
    group_record::parse(&record, alive::boot())
}

/// Ends what servers of a host left running that is gone. Only with its place taken.
pub(super) fn end_left(dir: &Dir) {
    let groups = recorded(dir);
    let turns: BTreeSet<&str> = groups.iter().map(|group| group.turn.as_str()).collect();
    for turn in turns {
        match leftovers::end(turn, &groups, GRACE) {
            Ok(report) if report.ended.is_empty() => {}
            Ok(report) => tracing::info!("{} processes of MCP servers that an earlier host has left: ended", report.ended.len()),
            Err(e) => tracing::warn!("what MCP servers left running: {e}"),
        }
    }
}

/// Listens, in the place of a host that is gone. Only with its place taken.
pub(super) fn listen(dir: &Dir) -> io::Result<UnixListener> {
    dir.remove(SOCKET).map_err(io::Error::other)?;
    with_address(dir, |address| {
        let listener = UnixListener::bind(address)?;
        std::fs::set_permissions(address, std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    })
}

/// From now on nobody finds the host any more.
pub(super) fn vanish(dir: &Dir) {
    if let Err(e) = dir.remove(SOCKET) {
        tracing::warn!("{e}");
    }
}

/// Connects to the host. An error: nobody listens.
pub(super) async fn connect(dir: &Dir) -> io::Result<UnixStream> {
    let stream = with_address(dir, |address| {
        let stream = std::os::unix::net::UnixStream::connect(address)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    })?;
    UnixStream::from_std(stream)
}

/// The address of a socket has about a hundred bytes, and a path may be longer: Linux takes it by way of the open directory.
fn with_address<T>(dir: &Dir, take: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let open = File::open(dir.path())?;
    let address = match cfg!(target_os = "linux") {
        true => PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", open.as_raw_fd())),
        false => dir.join(SOCKET),
    };
    take(&address)
}

/// Ends the host of a project, where there is one, and all that servers left running. Waits for that, for some seconds.
pub fn end(state: &Path) -> board::Result<()> {
    let dir = match Dir::open(state) {
        Err(e) if e.io_kind() == Some(io::ErrorKind::NotFound) => return Ok(()),
        dir => dir?,
    };
    let Some(lock) = LockFile::open_existing(&dir, LOCK)? else { return Ok(()) };
    let since = Instant::now();
    let mut told = None;
    let _held = loop {
        if let Some(held) = lock.try_lock(Mode::Exclusive)? {
            break held;
        }
        let force = if since.elapsed() < GRACE_OF_HOST { Force::Terminate } else { Force::Kill };
        // Another host may have begun meanwhile.
        let host: Option<Process> = dir.read(PROCESS)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(host) = host.filter(|host| told.as_ref() != Some(&(host.clone(), force == Force::Kill))) {
            detach::end(&host, force).map_err(|source| board::Error::Io { action: "end the host of the MCP servers of", path: state.to_owned(), source })?;
            told = Some((host, force == Force::Kill));
        }
        if since.elapsed() > GRACE_OF_HOST * 2 {
            return Err(board::Error::LockTimeout { path: lock.path().to_owned(), waited: since.elapsed(), holder: None });
        }
        std::thread::sleep(LOOK);
    };
    end_left(&dir);
    vanish(&dir);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn a_long_path_is_no_hindrance() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::make(&temp.path().join("x".repeat(200)), 0o700).unwrap();
        run(async {
            assert!(connect(&dir).await.is_err(), "nobody listens yet");
            let listener = listen(&dir).unwrap();
            let mode = std::fs::metadata(dir.join(SOCKET)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let (connected, accepted) = tokio::join!(connect(&dir), listener.accept());
            assert_eq!(connected.unwrap().peer_cred().unwrap().pid(), Some(std::process::id().cast_signed()));
            drop((accepted, listener));
            assert!(connect(&dir).await.is_err(), "it has gone");
            // In its place.
            listen(&dir).unwrap();
            vanish(&dir);
            assert!(dir.stat(SOCKET).unwrap().is_none());
        });
    }

    #[test]
    fn there_is_one_host() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let held = take_place(&dir).unwrap();
        assert!(held.is_some() && take_place(&dir).unwrap().is_none());
        drop(held);
        assert!(take_place(&dir).unwrap().is_some());
        end(temp.path()).unwrap();
        end(&temp.path().join("nothing")).unwrap();
    }
}
