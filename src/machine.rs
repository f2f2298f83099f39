//! What this process may count on, as its environment says.

use std::ffi::OsString;
use std::io;

/// How many commands run side by side where nobody says so.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether change events are to be relied on: not with `CREW_NO_NOTIFY=1`.
pub(crate) fn events() -> bool {
    std::env::var_os("CREW_NO_NOTIFY").is_none_or(|value| value.is_empty() || value == "0")
}

/// This program, for starting it again beside itself: also where it was replaced by another version meanwhile.
pub(crate) fn program() -> io::Result<OsString> {
    let file = std::env::current_exe()?;
    match file.exists() || !cfg!(target_os = "linux") {
        true => Ok(file.into()),
        // The kernel still has what this process was loaded from.
        false => Ok("/proc/self/exe".into()),
    }
}

/// A runtime of one thread: a teammate waits more than it computes, and a hundred of them are to fit side by side.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
