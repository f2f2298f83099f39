//! The same claims from a table of SQLite, as task queues on it are usually written.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::ground::task_text;
use crate::measure::Outcome;

const FILE: &str = "tasks.sqlite";

/// Makes the table with so many pending tasks.
pub(crate) fn fill(root: &Path, tasks: usize) -> Outcome<()> {
    let mut connection = Connection::open(root.join(FILE))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.execute_batch(
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY, status TEXT NOT NULL, owner TEXT, priority INTEGER NOT NULL, document TEXT NOT NULL);
         CREATE INDEX by_status ON tasks (status, priority DESC, id);",
    )?;
    let transaction = connection.transaction()?;
    for (id, number) in (1_i64..).zip(1..=tasks) {
        let values = params![id, task_text(number)];
        transaction.prepare_cached("INSERT INTO tasks VALUES (?1, 'pending', NULL, 0, ?2)")?.execute(values)?;
    }
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// An open connection that claims for one worker.
pub(crate) struct Queue {
    connection: Connection,
    name: String,
    finishes: bool,
}

impl Queue {
    /// `synchronous`: `NORMAL` or `FULL`.
    pub(crate) fn open(root: &Path, name: &str, synchronous: &str, finishes: bool) -> Outcome<Queue> {
        let connection = Connection::open(root.join(FILE))?;
        connection.busy_timeout(std::time::Duration::from_secs(60))?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        Ok(Queue { connection, name: name.to_owned(), finishes })
    }

    /// Claims the best pending task, and finishes it where that is wanted.
    pub(crate) fn take(&mut self) -> Outcome<Option<String>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let id: Option<i64> = transaction
            .prepare_cached(
                "UPDATE tasks SET status = 'in_progress', owner = ?1
                 WHERE id = (SELECT id FROM tasks WHERE status = 'pending' ORDER BY priority DESC, id LIMIT 1) RETURNING id",
            )?
            .query_row(params![self.name], |row| row.get(0))
            .optional()?;
        transaction.commit()?;
        if let (Some(id), true) = (id, self.finishes) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.prepare_cached("UPDATE tasks SET status = 'completed' WHERE id = ?1 AND owner = ?2")?.execute(params![id, self.name])?;
            transaction.commit()?;
        }
        Ok(id.map(|id| id.to_string()))
    }
}
