//! The table, the line for programs, and what must hold.

use std::fmt::Write;

use crate::policy::{BURST, Policy};
use crate::scenarios::{Report, Row};

/// How far `"auto"` may be from the optimum.
const MAX_RATIO: f64 = 1.05;
/// The share of calls that may hedge in any second after latency tripled at once.
const MAX_STEP_SHARE: f64 = 0.11;

pub fn table(report: &Report) -> String {
    let mut text = format!(
        "{:<12}{:<13}{:>9}{:>9}{:>9}{:>12}{:>13}{:>8}{:>8}\n",
        "workload", "policy", "p50 ms", "p99", "p99.9", "extra load", "budget use", "p99 x", "p99.9 x"
    );
    for row in &report.rows {
        let used = row.worst_use.map_or("-".into(), |used| format!("{used:.1} of {BURST}"));
        let (p99, p999) = row.ratios.map_or_else(
            || ("-".into(), "-".into()),
            |(p99, p999)| (format!("{p99:.3}"), format!("{p999:.3}")),
        );
        let _ = writeln!(
            text,
            "{:<12}{:<13}{:>9.2}{:>9.2}{:>9.2}{:>10.2} %{used:>13}{p99:>8}{p999:>8}",
            row.workload,
            row.policy,
            row.p50,
            row.p99,
            row.p999,
            row.extra_load * 100.0
        );
    }
    let _ = writeln!(
        text,
        "\nbudget use: the greatest hedges - 0.1 x calls of any interval; x: to the optimum at 10 % extra load.\n\
         half slow: every attempt of every second call takes ten times as long.\n\
         latency x3: in the worst second after it, {:.2} % of the calls hedged.",
        report.step_share * 100.0
    );
    text
}

/// What must hold and does not.
pub fn failures(report: &Report) -> Vec<String> {
    let mut failures = Vec::new();
    for row in &report.rows {
        let name = format!("{}, {}", row.workload, row.policy);
        let judged = row.policy == Policy::Auto.name() && matches!(row.workload, "W1" | "W3 leaf");
        if judged
            && let Some((p99, p999)) = row.ratios
            && p99.max(p999) > MAX_RATIO
        {
            failures.push(format!(
                "{name}: {p99:.3} and {p999:.3} times the optimum, at most {MAX_RATIO}"
            ));
        }
        if row.worst_use.is_some_and(|used| used > f64::from(BURST)) {
            failures.push(format!("{name}: more hedges in some interval than the budget allows"));
        }
        if row.max_share > row.allowed_share {
            failures.push(format!("{name}: more hedges than the budget allows"));
        }
    }
    if report.step_share > MAX_STEP_SHARE {
        failures.push(format!(
            "{:.2} % of the calls hedge in a second after latency tripled, at most {:.0} %",
            report.step_share * 100.0,
            MAX_STEP_SHARE * 100.0
        ));
    }
    failures
}

/// One line of JSON.
pub fn json(report: &Report) -> String {
    let compared = report.rows.iter().filter(|row| row.ratios.is_some());
    let rows: Vec<String> = compared.flat_map(json_rows).collect();
    let worst = report.rows.iter().max_by(|a, b| a.max_share.total_cmp(&b.max_share));
    let (max, budget) = worst.map_or((0.0, 0.0), |row| (row.max_share, row.allowed_share));
    format!(
        "{{\"rows\":[{}],\"hedgeShare\":{{\"max\":{max:.6},\"budget\":{budget:.6}}},\"step\":{{\"maxHedgeShare\":{:.6}}}}}",
        rows.join(","),
        report.step_share
    )
}

fn json_rows(row: &Row) -> [String; 2] {
    let (p99, p999) = row.ratios.unwrap_or((f64::NAN, f64::NAN));
    [("p99", row.p99, p99), ("p99.9", row.p999, p999)].map(|(quantile, ms, ratio)| {
        format!(
            "{{\"workload\":\"{}\",\"policy\":\"{}\",\"quantile\":\"{quantile}\",\"ms\":{ms:.3},\"extraLoad\":{:.5},\"ratio\":{ratio:.4}}}",
            row.workload, row.policy, row.extra_load
        )
    })
}
