//! A panel: a frame with axes, a title and a legend, onto which curves are drawn.

use super::axis::Axis;
use super::svg::{Stroke, Style, Svg, colour};

/// Where a panel is, and what its axes show.
#[derive(Clone)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Frame {
    /// Where a pair of values lies.
    pub(crate) fn point(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + self.width * self.x.scale.at(x), self.base() - self.height * self.y.scale.at(y))
    }

    /// Its edges: left, top, width and height.
    pub(crate) fn edges(&self) -> [f64; 4] {
        [self.left, self.top, self.width, self.height]
    }

    /// Grid and tick labels, under everything else.
    pub(crate) fn draw_grid(&self, svg: &mut Svg) {
        let (base, right) = (self.base(), self.left + self.width);
        for (tick, label) in &self.y.ticks {
            let y = base - self.height * self.y.scale.at(*tick);
            svg.line((self.left, y), (right, y), Stroke::solid(colour::GRID, 1.0));
            svg.text(self.left - 8.0, y + 4.0, label, Style::TICK_Y);
        }
        for (tick, label) in &self.x.ticks {
            let x = self.left + self.width * self.x.scale.at(*tick);
            svg.line((x, base), (x, base + 4.0), Stroke::solid(colour::AXIS, 1.0));
            svg.text(x, base + 17.0, label, Style::TICK_X);
        }
    }

    /// The base line and the titles, over everything else.
    pub(crate) fn draw_titles(&self, svg: &mut Svg, title: &str, legend: &[Key]) {
        let (base, right) = (self.base(), self.left + self.width);
        svg.line((self.left, base), (right, base), Stroke::solid(colour::AXIS, 1.0));
        svg.text(right, base + 33.0, &self.x.name, Style { anchor: "end", ..Style::NOTE });
        let title_gap = if legend.is_empty() { 10.0 } else { 28.0 };
        svg.text(self.left, self.top - title_gap, title, Style::PANEL);
        draw_legend(svg, self.left, self.top - 10.0, legend);
    }

    fn base(&self) -> f64 {
        self.top + self.height
    }
}

/// An entry of a legend.
pub(crate) struct Key {
    pub(crate) mark: Mark,
    pub(crate) text: String,
}

/// How an entry looks in the panel.
pub(crate) enum Mark {
    Area(&'static str),
    Line(Stroke),
}

impl Key {
    pub(crate) fn area(colour: &'static str, text: impl Into<String>) -> Self {
        Self { mark: Mark::Area(colour), text: text.into() }
    }

    pub(crate) fn line(stroke: Stroke, text: impl Into<String>) -> Self {
        Self { mark: Mark::Line(stroke), text: text.into() }
    }
}

fn draw_legend(svg: &mut Svg, mut x: f64, y: f64, keys: &[Key]) {
    for Key { mark, text } in keys {
        match mark {
            Mark::Area(colour) => svg.rect(x, y - 9.0, 14.0, 10.0, colour),
            Mark::Line(stroke) => svg.line((x, y - 4.0), (x + 22.0, y - 4.0), *stroke),
        }
        let gap = if matches!(mark, Mark::Area(_)) { 19.0 } else { 27.0 };
        svg.text(x + gap, y, text, Style::LEGEND);
        // The width of text is not known without a font: this is ample for 12 px Helvetica.
        x += gap + text.chars().count() as f64 * 6.4 + 16.0;
    }
}
