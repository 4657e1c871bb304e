//! What the system says about this process.

use std::fs;

/// Resident memory; `None` where the system does not say.
pub fn resident_bytes() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Names of this process's threads; `None` where the system does not say.
pub fn thread_names() -> Option<Vec<String>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    Some(
        tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
            .map(|name| name.trim().to_owned())
            .collect(),
    )
}
