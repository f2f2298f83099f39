//! The run, from its beginning to its end, with teammates that are commands.

mod example;
