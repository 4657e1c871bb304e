//! What the system says about this process.

use std::{env, fs, process::Command};

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

/// Whether this process runs no other test, so that what the system says about it is about this one. Else
/// the test of this name is run in a process of its own, and must succeed there.
pub fn alone(test: &str) -> bool {
    const ALONE: &str = "DIALCACHE_TEST_ALONE";
    // cargo-nextest gives each test a process.
    if env::var_os("NEXTEST").is_some() || env::var_os(ALONE).is_some() {
        return true;
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}
