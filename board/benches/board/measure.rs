//! Pairs measured in turn, their medians, and the lines that tell of them.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::ground::Ground;
use crate::raw;

/// Whatever goes wrong in a measurement ends it.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Ours and the raw limit, measured one after the other, in seconds for the same number of operations.
#[derive(Default)]
pub(crate) struct Pairs {
    ours: Vec<f64>,
    limit: Vec<f64>,
}

/// Which side of the target is good.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// The ratio is at most this.
    AtMost(f64),
    /// The ratio is at least this.
    AtLeast(f64),
    /// Only told.
    Untold,
}

impl Pairs {
    /// Adds a pair of whatever is compared: times, or rates.
    pub(crate) fn add(&mut self, ours: f64, limit: f64) {
        self.ours.push(ours);
        self.limit.push(limit);
    }

    /// Tells the pair's medians and the median of their ratios. `unit` prints one side.
    pub(crate) fn tell(&self, what: &str, unit: fn(f64) -> String, target: Target) {
        let ratios: Vec<f64> = self.ours.iter().zip(&self.limit).map(|(ours, limit)| ours / limit).collect();
        let spread = format!("quartiles {:.2} to {:.2}, {} pairs", quantile(&ratios, 0.25), quantile(&ratios, 0.75), ratios.len());
        tell(what, &unit(median(&self.ours)), &unit(median(&self.limit)), median(&ratios), target, &spread);
    }

    /// The ratio of everything together: what rare, long pauses add to it.
    pub(crate) fn tell_total(&self, what: &str, unit: fn(f64) -> String) {
        let (ours, limit) = (mean(&self.ours), mean(&self.limit));
        tell(what, &unit(ours), &unit(limit), ours / limit, Target::Untold, "means of the same pairs");
    }
}

/// Prints what is measured where.
pub(crate) fn print_head(ground: &Ground) -> Outcome<()> {
    let cores = std::thread::available_parallelism()?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let rename = raw::typical_rename(ground)?;
    println!("in {} ({}), {cores} cores, load {}", ground.path().display(), ground.filesystem()?, load.split(' ').next().unwrap_or("?"));
    println!("a bare temporary file + rename costs {} here", micros(rename));
    println!("{:<58} {:>12} {:>12} {:>7} {:>8}", "what", "ours", "limit", "ratio", "target");
    Ok(())
}

/// Prints one line.
pub(crate) fn tell(what: &str, ours: &str, limit: &str, ratio: f64, target: Target, note: &str) {
    let (target, verdict) = match target {
        Target::AtMost(target) => (format!("≤ {target}"), if ratio <= target { "ok " } else { "NOT" }),
        Target::AtLeast(target) => (format!("≥ {target}"), if ratio >= target { "ok " } else { "NOT" }),
        Target::Untold => ("".into(), "   "),
    };
    println!("{what:<58} {ours:>12} {limit:>12} {ratio:>7.2} {target:>8} {verdict} {note}");
}

/// Prints one line about a figure that has a bound and no limit beside it.
pub(crate) fn tell_bound(what: &str, ours: &str, target: &str, met: bool, note: &str) {
    println!("{what:<58} {ours:>12} {:>12} {:>7} {target:>8} {} {note}", "", "", if met { "ok " } else { "NOT" });
}

/// How long something takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let since = Instant::now();
    work()?;
    Ok(since.elapsed().as_secs_f64())
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which this share of the values lies.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let index = (last as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Seconds as people read short times.
pub(crate) fn micros(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.01 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.2} µs", s * 1e6),
    }
}

/// Operations a second.
pub(crate) fn rate(per_second: f64) -> String {
    format!("{per_second:.0}/s")
}

/// The clock that all processes share and nobody sets.
pub(crate) fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The processor time that this thread has had.
pub(crate) fn thread_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}
