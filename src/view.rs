//! Data to text. Nothing here reads or writes anything.

pub(crate) mod document;
pub(crate) mod escape;
pub(crate) mod findings;
pub(crate) mod graph;
pub(crate) mod left;
pub(crate) mod list;
pub(crate) mod quota;
pub(crate) mod run;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod team;
