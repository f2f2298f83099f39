//! Much output, written from where it lies: a list of ten thousand tasks is megabytes that nobody needs to copy.

use std::io::{self, IoSlice};

/// So many pieces are given to the system at once; it takes no more than 1024.
const PIECES: usize = 512;

/// Writes pieces to stdout, one after the other.
pub(crate) fn write_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> io::Result<()> {
    let mut pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).map(IoSlice::new);
    loop {
        let mut batch: Vec<IoSlice<'_>> = pieces.by_ref().take(PIECES).collect();
        if batch.is_empty() {
            return Ok(());
        }
        write_batch(&mut batch)?;
    }
}

fn write_batch(mut left: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !left.is_empty() {
        match rustix::io::writev(rustix::stdio::stdout(), left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
