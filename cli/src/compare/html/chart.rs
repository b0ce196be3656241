//! Curves in a panel, each with its name at its right end, so that no legend need be looked up.

use crate::plot::axis::Axis;
use crate::plot::panel::Frame;
use crate::plot::svg::{Stroke, Style, Svg, colour};

/// A limiter's curve.
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// A panel of curves.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
    /// Whether the points are figures of their own, to be marked.
    pub(super) dots: bool,
    /// A line across, and its name.
    pub(super) limit: Option<(f64, &'static str)>,
}

const PLOT_WIDTH: f64 = 340.0;
const PLOT_HEIGHT: f64 = 230.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 30.0;
/// Room for the names.
const RIGHT: f64 = 148.0;
const BOTTOM: f64 = 48.0;

const WIDTH: f64 = LEFT + PLOT_WIDTH + RIGHT;
const HEIGHT: f64 = TOP + PLOT_HEIGHT + BOTTOM;

/// Charts in two columns.
pub(super) fn picture(prefix: &str, title: &str, charts: &[Chart]) -> String {
    let mut svg = Svg::new(prefix);
    for (index, chart) in charts.iter().enumerate() {
        let (column, row) = (index % 2, index / 2);
        draw(&mut svg, chart, column as f64 * WIDTH, row as f64 * HEIGHT);
    }
    svg.finish(WIDTH * 2.0, HEIGHT * charts.len().div_ceil(2) as f64, title)
}

fn draw(svg: &mut Svg, chart: &Chart, left: f64, top: f64) {
    let frame = Frame {
        left: left + LEFT,
        top: top + TOP,
        width: PLOT_WIDTH,
        height: PLOT_HEIGHT,
        x: chart.x.clone(),
        y: chart.y.clone(),
    };
    frame.draw_grid(svg);
    svg.clipped(frame.edges(), |svg| {
        for curve in &chart.curves {
            draw_curve(svg, &frame, curve, chart.dots);
        }
    });
    if let Some((value, name)) = chart.limit {
        draw_limit(svg, &frame, value, name);
    }
    draw_names(svg, &frame, &chart.curves);
    frame.draw_titles(svg, &chart.title, &[]);
}

fn draw_curve(svg: &mut Svg, frame: &Frame, curve: &Curve, dots: bool) {
    let points: Vec<_> = curve.points.iter().map(|&(x, y)| frame.point(x, y)).collect();
    let stroke = look(curve.name);
    svg.path(&points, stroke);
    if dots {
        points.iter().for_each(|&point| svg.dot(point, stroke.width + 1.0, stroke.colour));
    }
}

fn draw_limit(svg: &mut Svg, frame: &Frame, value: f64, name: &str) {
    let (_, y) = frame.point(0.0, value);
    svg.line((frame.left, y), (frame.left + frame.width, y), Stroke::dashed(colour::LIMIT, 1.6));
    svg.text(frame.left + 6.0, y - 5.0, name, Style { colour: colour::LIMIT, ..Style::NOTE });
}

const LINE_HEIGHT: f64 = 13.0;

/// The names stand where the curves end, moved apart where they would cover one another.
fn draw_names(svg: &mut Svg, frame: &Frame, curves: &[Curve]) {
    let ends = |curve: &Curve| {
        let &(x, y) = curve.points.last()?;
        let (_, at) = frame.point(x, y);
        Some((curve.name, at.clamp(frame.top, frame.top + frame.height)))
    };
    let mut names: Vec<(&str, f64)> = curves.iter().filter_map(ends).collect();
    names.sort_by(|one, other| one.1.total_cmp(&other.1));
    let wanted: Vec<f64> = names.iter().map(|name| name.1).collect();
    let right = frame.left + frame.width;
    for ((name, end), place) in names.iter().zip(spread(&wanted, frame.top, frame.top + frame.height)) {
        let stroke = Stroke { width: 0.8, dashes: "none", ..look(name) };
        svg.line((right + 1.0, *end), (right + 12.0, place), stroke);
        let weight = if is_ours(name) { 600 } else { 400 };
        let style = Style { size: 11, weight, colour: stroke.colour, anchor: "start" };
        svg.text(right + 15.0, place + 4.0, name, style);
    }
}

/// Places for lines of text in ascending order: as near to the wanted ones as their height allows.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut places: Vec<f64> = Vec::with_capacity(wanted.len());
    for &want in wanted {
        let least = places.last().map_or(top, |last| last + LINE_HEIGHT);
        places.push(want.max(least));
    }
    let mut most = bottom.max(top + LINE_HEIGHT * wanted.len() as f64);
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - LINE_HEIGHT;
    }
    places
}

fn is_ours(name: &str) -> bool {
    name.starts_with("tollgate/")
}

/// The line of each limiter: ours thick and in colours of their own, peers and baselines thin, pairs told apart by dashes.
fn look(name: &str) -> Stroke {
    match name {
        "tollgate/shard" => Stroke::solid("#d55e00", 3.0),
        "tollgate/sharded" => Stroke::solid("#e69f00", 3.0),
        "tollgate/bucket" => Stroke::solid("#0072b2", 3.0),
        "tollgate/bucket+coarse" => Stroke::solid("#56b4e9", 3.0),
        "governor" => Stroke::solid("#111111", 1.6),
        "ratelimit" => Stroke::solid("#777777", 1.6),
        "leaky-bucket" => Stroke::dashed("#777777", 1.6),
        "mutex/std" => Stroke::solid("#009e73", 1.6),
        "mutex/parking_lot" => Stroke::dashed("#009e73", 1.6),
        "rwlock/std" => Stroke::solid("#cc79a7", 1.6),
        "spin" => Stroke::dashed("#cc79a7", 1.6),
        _ => Stroke::solid(colour::AXIS, 1.2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::field;
    use super::*;

    #[test]
    fn names_keep_their_distance_and_stay_inside() {
        assert_eq!(spread(&[10.0, 50.0, 90.0], 0.0, 100.0), [10.0, 50.0, 90.0]);
        assert_eq!(spread(&[40.0, 41.0, 42.0], 0.0, 100.0), [40.0, 53.0, 66.0]);
        assert_eq!(spread(&[98.0, 99.0], 0.0, 100.0), [87.0, 100.0]);
    }

    #[test]
    fn no_two_limiters_look_the_same() {
        let looks = field::names().map(look).map(|stroke| (stroke.colour, stroke.dashes));
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "{look:?}");
        }
    }
}
