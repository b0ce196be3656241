//! `--plot`: the least capacity for each rate, and a map of what is admitted around the recommendation.

use super::Planned;
use super::sweep::Cell;
use crate::plot::axis::{Axis, label};
use crate::plot::panel::{Frame, Key};
use crate::plot::svg::{Stroke, Style, Svg, colour};
use crate::text::{file_name, grouped, percent, span};

const LEFT: f64 = 84.0;
const TOP: f64 = 112.0;
const HEIGHT: f64 = 380.0;
const CURVE_WIDTH: f64 = 460.0;
const GAP: f64 = 120.0;
const CELL: (f64, f64) = (104.0, HEIGHT / 7.0);

const ALL: Stroke = Stroke::dashed(colour::BOUND, 1.6);
const TARGET: Stroke = Stroke::solid(colour::ADMITTED, 2.0);

/// The ends of the map's colours: nothing admitted, and all.
const NONE: [f64; 3] = [255.0, 255.0, 255.0];
const EVERY: [f64; 3] = [0.0, 90.0, 150.0];

/// The picture as the text of an SVG file.
pub(super) fn draw(planned: &Planned) -> String {
    let title =
        format!("{}, cost {}: {}", file_name(&planned.load.name), planned.wanted.cost, planned.choice.quota);
    let mut svg = Svg::new("p");
    svg.text(LEFT, 30.0, &title, Style::TITLE);
    let load = &planned.load;
    let note = format!(
        "{} requests over {}; admitted {} of {}, the target was {}",
        grouped(load.len()),
        span(load.span),
        grouped(planned.choice.outcome.admitted),
        grouped(load.len()),
        planned.target
    );
    svg.text(LEFT, 50.0, &note, Style::NOTE);
    let map_left = if planned.curve.is_empty() { LEFT } else { LEFT + CURVE_WIDTH + GAP };
    if !planned.curve.is_empty() {
        draw_curve(&mut svg, planned);
    }
    draw_map(&mut svg, planned, map_left);
    let width = map_left + planned.sweep.rates.len() as f64 * CELL.0 + 30.0;
    svg.finish(width, TOP + HEIGHT + 56.0, &title)
}

/// The curves of least capacities, and where the recommendation lies.
fn draw_curve(svg: &mut Svg, planned: &Planned) {
    let rates = planned.curve.iter().map(|point| point.rate.per_second());
    let highest = planned.curve.iter().map(|point| point.for_all.max(point.for_target)).max().unwrap_or(1);
    let mut x = Axis::linear(rates.fold(planned.choice.rate.per_second(), f64::max) * 1.04, 5.0);
    x.name = "rate in tokens per second".into();
    let y = Axis::linear(highest.max(planned.choice.quota.capacity()) as f64 * 1.04, 5.0);
    let frame = Frame { left: LEFT, top: TOP, width: CURVE_WIDTH, height: HEIGHT, x, y };
    frame.draw_grid(svg);
    let line = |capacity: fn(&super::Point) -> u64| -> Vec<(f64, f64)> {
        let at = |point: &super::Point| frame.point(point.rate.per_second(), capacity(point) as f64);
        planned.curve.iter().map(at).collect()
    };
    svg.path(&line(|point| point.for_all), ALL);
    svg.path(&line(|point| point.for_target), TARGET);
    let (rate, capacity) = (planned.choice.rate.per_second(), planned.choice.quota.capacity() as f64);
    svg.dot(frame.point(rate, capacity), 5.0, colour::LIMIT);
    let legend = [
        Key::line(TARGET, format!("admits {}", planned.target)),
        Key::line(ALL, "admits all"),
        Key::area(colour::LIMIT, "recommended"),
    ];
    frame.draw_titles(svg, "Least capacity in tokens for each rate", &legend);
}

/// Each alternative as a cell, the darker the more it admits.
fn draw_map(svg: &mut Svg, planned: &Planned, left: f64) {
    let sweep = &planned.sweep;
    let base = TOP + sweep.capacities.len() as f64 * CELL.1;
    for (row, capacity) in sweep.capacities.iter().enumerate() {
        let y = base - (row as f64 + 0.5) * CELL.1;
        svg.text(left - 8.0, y + 4.0, &label(*capacity as f64), Style::TICK_Y);
    }
    for (column, rate) in sweep.rates.iter().enumerate() {
        let x = left + column as f64 * CELL.0;
        svg.text(x + CELL.0 / 2.0, base + 17.0, &rate.to_string(), Style::TICK_X);
        for row in 0..sweep.capacities.len() {
            let y = base - (row as f64 + 1.0) * CELL.1;
            if let Some(cell) = sweep.cell(column, row) {
                draw_cell(svg, (x, y), cell, cell.quota == planned.choice.quota);
            }
        }
    }
    let right = left + sweep.rates.len() as f64 * CELL.0;
    svg.text(right, base + 33.0, "rate", Style { anchor: "end", ..Style::NOTE });
    svg.text(left, TOP - 28.0, "Alternatives: admitted; longest wait told; used", Style::PANEL);
    svg.text(left, TOP - 10.0, "by capacity in tokens (upward) and rate; framed: recommended", Style::LEGEND);
}

fn draw_cell(svg: &mut Svg, (x, y): (f64, f64), cell: &Cell, recommended: bool) {
    let outcome = &cell.outcome;
    let requests = outcome.admitted + outcome.refused + outcome.never;
    let part = outcome.admitted as f64 / requests as f64;
    let frame = if recommended { (colour::LIMIT, 3.0) } else { ("#ffffff", 1.0) };
    svg.rect(x, y, CELL.0, CELL.1, frame.0);
    svg.rect(x + frame.1, y + frame.1, CELL.0 - 2.0 * frame.1, CELL.1 - 2.0 * frame.1, &shade(part));
    let ink = if shade_weight(part) > 0.6 { "#ffffff" } else { colour::TEXT };
    let style = |size, weight| Style { size, weight, colour: ink, anchor: "middle" };
    let middle = x + CELL.0 / 2.0;
    svg.text(middle, y + 22.0, &percent(outcome.admitted, requests), style(13, 600));
    let wait = if outcome.refused == 0 { "no wait".to_owned() } else { span(outcome.longest_wait) };
    svg.text(middle, y + 40.0, &format!("{wait}; {:.0} %", cell.utilisation * 100.0), style(11, 400));
}

/// The last per cents matter most, so it goes by the logarithm of what is refused: 0 for all of it, 1 for none.
fn shade_weight(part: f64) -> f64 {
    let refused = (1.0 - part).clamp(0.000_1, 1.0);
    refused.log10() / -4.0
}

fn shade(part: f64) -> String {
    let weight = shade_weight(part);
    let [r, g, b] = [0, 1, 2].map(|i| (NONE[i] + (EVERY[i] - NONE[i]) * weight).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}
