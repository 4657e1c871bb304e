//! The latency distributions, on doubly logarithmic paper.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::optimum;
use crate::scenarios::{Best, Report, Row};

const SIZE: (u32, u32) = (1_200, 420);
/// The rarest calls that are drawn.
const RAREST: f64 = 2e-5;
const POINTS: u32 = 160;
const OPTIMUM: RGBColor = RGBColor(200, 20, 60);

/// Writes the plot.
pub fn draw(file: &Path, report: &Report) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let drawn = report.optima.iter().filter(|best| best.workload != "W3 request");
    for (panel, best) in area.split_evenly((1, 2)).iter().zip(drawn) {
        draw_workload(panel, report, best)?;
    }
    area.present()?;
    Ok(())
}

fn draw_workload(
    panel: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    report: &Report,
    best: &Best,
) -> Result<(), Box<dyn Error>> {
    let rows = || report.rows.iter().filter(|row| row.workload == best.workload);
    let slowest = rows().map(|row| row.p999).fold(1.0, f64::max) * 2.0;
    let mut chart = ChartBuilder::on(panel)
        .caption(format!("{}: calls that take longer", best.workload), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((0.2..slowest).log_scale(), (RAREST..1.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("milliseconds")
        .y_desc("part of the calls")
        .y_label_formatter(&|part| format!("{part:.0e}"))
        .light_line_style(WHITE)
        .draw()?;
    let colors = [RGBColor(120, 120, 120), RGBColor(230, 140, 20), RGBColor(20, 100, 200)];
    for (row, color) in rows().filter(|row| !row.latencies.is_empty()).zip(colors) {
        chart
            .draw_series(LineSeries::new(curve(row), color.stroke_width(2)))?
            .label(row.policy)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    let optimum = points().map(|part| {
        let exceeds = |ms| optimum::exceeds(best.latency.as_ref(), best.p99.delay, best.p99.probability, ms);
        (optimum::quantile(exceeds, part), part)
    });
    chart
        .draw_series(LineSeries::new(optimum, OPTIMUM))?
        .label("optimum for p99")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], OPTIMUM));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// From all of the calls to the rarest, evenly on logarithmic paper.
fn points() -> impl Iterator<Item = f64> {
    (0..=POINTS).map(|n| RAREST.powf(f64::from(n) / f64::from(POINTS)))
}

fn curve(row: &Row) -> impl Iterator<Item = (f64, f64)> + '_ {
    points().filter_map(|part| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a part of a length"
        )]
        let above = (row.latencies.len() as f64 * part) as usize;
        let index = row.latencies.len().checked_sub(above + 1)?;
        Some((row.latencies[index], part))
    })
}
