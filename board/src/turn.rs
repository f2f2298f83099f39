//! Ids of turns: never the same twice, short enough to type.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A fresh id. A process draws its random part once and counts on from there.
pub fn fresh() -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(random);
    format!("{}-{}", base32(*process), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn random() -> u64 {
    let mut bytes = [0u8; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(8) => u64::from_le_bytes(bytes),
        // A kernel without getrandom: pid and time are still this process's alone.
        _ => (u64::from(std::process::id()) << 40) ^ u64::try_from(crate::clock::nanos() & 0xff_ffff_ffff).unwrap_or(0),
    }
}

fn base32(mut number: u64) -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut text = String::with_capacity(13);
    for _ in 0..12 {
        text.push(char::from(LETTERS[(number & 31) as usize]));
        number >>= 5;
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_id_comes_twice() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| super::fresh()).collect();
        assert_eq!(ids.len(), 1000);
    }
}
