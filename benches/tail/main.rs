//! How close hedging comes to the best there is, in virtual time.
//!
//! Calls arrive when they arrive, 1,000 a second (an open loop: a fixed number of workers would wait for the
//! slow ones and so hide them), for 300 s, of which the first half is not counted. The source is the real
//! one; only the attempts are drawn from a distribution and the clock is a number. The optimum is computed,
//! not simulated.
//!
//! `npm run bench:tail`; `--json` ends with one line for programs. Without `--bench` everything is short: that
//! is how tests make sure that it runs.

mod optimum;
mod plot;
mod policy;
mod report;
mod scenarios;
mod simulate;
mod workload;

use std::path::Path;

use scenarios::Scale;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let given = |name: &str| args.iter().any(|arg| arg == name);
    let scale = if given("--bench") { Scale::FULL } else { Scale::SMOKE };
    let report = scenarios::run(scale);
    print!("{}", report::table(&report));
    if given("--bench") {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tail/latency.svg");
        match plot::draw(&file, &report) {
            Ok(()) => println!("\nplot: benches/tail/latency.svg"),
            Err(error) => eprintln!("the plot could not be written: {error}"),
        }
    }
    // A short run's tails mean nothing.
    let failures = if given("--bench") {
        report::failures(&report)
    } else {
        Vec::new()
    };
    for failure in &failures {
        println!("not met: {failure}");
    }
    if given("--json") {
        println!("{}", report::json(&report));
    }
    if !failures.is_empty() {
        std::process::exit(1);
    }
}
