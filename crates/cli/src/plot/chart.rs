//! Charts as SVG.

use crate::table::figure;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 82.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 54.0;
const BOTTOM: f64 = 46.0;
const COLOURS: [&str; 8] = ["#1f6fb2", "#d9822b", "#2e8b57", "#b23a48", "#7654a8", "#4d4d4d", "#0f9aa6", "#9a7d0a"];
/// Of names in the legend.
const ROW: f64 = 17.0;
/// More points than pixels help nobody.
const MOST_POINTS: usize = 1500;
/// Logarithmic axes reach down to this part of the largest value: below is rounding.
const DECADES: f64 = 12.0;

/// A chart.
#[derive(Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// An axis.
#[derive(Debug)]
pub struct Axis {
    label: String,
    logarithmic: bool,
}

/// A line.
#[derive(Debug)]
pub struct Line {
    /// What it is.
    pub label: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Points with a name.
    pub marks: Vec<(f64, f64, String)>,
}

impl Axis {
    /// Equal steps are equal differences.
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), logarithmic: false }
    }

    /// Equal steps are equal ratios.
    pub fn logarithmic(label: &str) -> Axis {
        Axis { label: label.to_owned(), logarithmic: true }
    }

    fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        let usable = |v: &f64| v.is_finite() && (!self.logarithmic || *v > 0.0);
        let (mut low, mut high) = values.filter(usable).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (1.0, 1.0);
        }
        if self.logarithmic {
            let (low, high) = (low.max(high * 10f64.powf(-DECADES)).log10().floor(), high.log10().ceil());
            return Scale { low, high: high.max(low + 1.0), logarithmic: true };
        }
        if low == high {
            let around = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
            (low, high) = (low - around, high + around);
        }
        Scale { low, high, logarithmic: false }
    }
}

/// From numbers to places along an axis.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    /// 0 at the low end, 1 at the high end; none for what is not on the axis.
    fn place(&self, value: f64) -> Option<f64> {
        let value = if self.logarithmic { value.log10().max(self.low) } else { value };
        Some((value - self.low) / (self.high - self.low)).filter(|place| place.is_finite())
    }

    /// Round numbers along the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let step = ((self.high - self.low) / 6.0).ceil().max(1.0) as usize;
            return (self.low as i32..=self.high as i32).step_by(step).map(|power| 10f64.powi(power)).collect();
        }
        let wanted = (self.high - self.low) / 5.0;
        let power = 10f64.powf(wanted.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&s| s >= wanted * 0.999).unwrap_or(wanted);
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).clamp(0.0, 20.0) as usize;
        (0..=count).map(|k| (first + k as f64) * step).map(|v| if v.abs() < 1e-9 * step { 0.0 } else { v }).collect()
    }
}

/// A power of ten without digits that say nothing.
fn shown(tick: f64) -> String {
    figure(tick).replace(".00e", "e")
}

/// All charts under each other.
pub fn svg(charts: &[Chart]) -> String {
    let height: f64 = charts.iter().map(Chart::height).sum();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n"
    );
    let mut above = 0.0;
    for chart in charts {
        let _ = writeln!(svg, "<g transform=\"translate(0 {above})\">");
        chart.draw(&mut svg);
        svg.push_str("</g>\n");
        above += chart.height();
    }
    svg.push_str("</svg>\n");
    svg
}

/// How far a name in the legend goes, with the stroke before it.
fn legend_width(label: &str) -> f64 {
    34.0 + 6.6 * label.chars().count() as f64
}

impl Chart {
    /// Where the names of lines stand: to the right, and in which row of the legend.
    fn legend(&self) -> Vec<(f64, usize)> {
        let (mut at, mut row) = (LEFT, 0);
        let place = |line: &Line| {
            let width = legend_width(&line.label);
            if at > LEFT && at + width > WIDTH {
                (at, row) = (LEFT, row + 1);
            }
            let place = (at, row);
            at += width;
            place
        };
        self.lines.iter().map(place).collect()
    }

    /// What more than one row of names takes.
    fn room_for_names(&self) -> f64 {
        ROW * self.legend().last().map_or(0, |last| last.1) as f64
    }

    fn height(&self) -> f64 {
        HEIGHT + self.room_for_names()
    }

    fn draw(&self, svg: &mut String) {
        let names = self.legend();
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"600\">{}</text>",
            escaped(&self.title)
        );
        for (k, (line, (x, row))) in self.lines.iter().zip(names).enumerate() {
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {:.0}h14\" {} stroke-width=\"2.5\"/><text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
                39.0 + ROW * row as f64,
                stroke(k),
                x + 18.0,
                43.0 + ROW * row as f64,
                escaped(&line.label)
            );
        }
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", self.room_for_names());
        self.draw_lines(svg);
        svg.push_str("</g>\n");
    }

    fn draw_lines(&self, svg: &mut String) {
        let values = || self.lines.iter().flat_map(|line| &line.points);
        let (x, y) = (self.x.scale(values().map(|p| p.0)), self.y.scale(values().map(|p| p.1)));
        let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let place =
            |point: (f64, f64)| Some((LEFT + width * x.place(point.0)?, TOP + height * (1.0 - y.place(point.1)?)));
        for tick in x.ticks() {
            let Some(at) = x.place(tick).map(|p| LEFT + width * p) else { continue };
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{:.1}\" stroke=\"#e3e2dc\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                TOP + height,
                TOP + height + 16.0,
                shown(tick)
            );
        }
        for tick in y.ticks() {
            let Some(at) = y.place(tick).map(|p| TOP + height * (1.0 - p)) else { continue };
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#e3e2dc\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT + width,
                LEFT - 8.0,
                at + 4.0,
                shown(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{:.1}H{:.1}\" fill=\"none\" stroke=\"#8a8a84\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            TOP + height,
            LEFT + width,
            LEFT + 0.5 * width,
            HEIGHT - 10.0,
            escaped(&self.x.label),
            TOP + 0.5 * height,
            escaped(&self.y.label)
        );
        for (k, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            let _ = writeln!(
                svg,
                "<path d=\"{}\" fill=\"none\" {} stroke-width=\"1.5\" stroke-linejoin=\"round\"/>",
                path(line, place),
                stroke(k)
            );
            for (a, b, name) in &line.marks {
                let Some((a, b)) = place((*a, *b)) else { continue };
                // beside the point, on the side where there is room
                let is_at_the_edge = a + 6.0 + 6.0 * name.chars().count() as f64 > WIDTH;
                let (x, anchor) = if is_at_the_edge { (a - 6.0, "end") } else { (a + 6.0, "start") };
                let (y, name) = (b - 5.0, escaped(name));
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3.5\" fill=\"{colour}\"/>\
                     <text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"10\" text-anchor=\"{anchor}\">{name}</text>",
                );
            }
        }
    }
}

/// Colour of a line; when all colours are taken they come again, dashed.
fn stroke(line: usize) -> String {
    let dashes = ["", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2\""][(line / COLOURS.len()).min(2)];
    format!("stroke=\"{}\"{dashes}", COLOURS[line % COLOURS.len()])
}

/// The line, with gaps where there is nothing, and with as many points as can be seen. Of points that fall together the
/// lowest and the highest stay, so that a peak is never lost.
fn path(line: &Line, place: impl Fn((f64, f64)) -> Option<(f64, f64)>) -> String {
    let bucket = (2 * line.points.len()).div_ceil(MOST_POINTS).max(1);
    let mut kept = Vec::new();
    for points in line.points.chunks(bucket) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        match (points.iter().min_by(by_height), points.iter().max_by(by_height)) {
            (Some(low), Some(high)) if low.0 < high.0 => kept.extend([*low, *high]),
            (Some(low), Some(high)) if low.0 > high.0 => kept.extend([*high, *low]),
            (Some(low), _) => kept.push(*low),
            _ => {}
        }
    }
    let (mut path, mut pen_is_down) = (String::new(), false);
    for point in kept {
        match place(point) {
            Some((a, b)) => {
                let _ = write!(path, "{}{a:.1} {b:.1}", if pen_is_down { 'L' } else { 'M' });
                pen_is_down = true;
            }
            None => pen_is_down = false,
        }
    }
    path
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let scale = Axis::linear("").scale([0.3, 9.7].into_iter());
        assert_eq!(scale.ticks(), [2.0, 4.0, 6.0, 8.0]);
        let scale = Axis::linear("").scale([-1.0, 1.0].into_iter());
        assert_eq!(scale.ticks(), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let scale = Axis::logarithmic("").scale([2e-5, 0.0, 30.0, f64::NAN].into_iter());
        assert_eq!(scale.ticks().len(), 4);
        assert_eq!(scale.place(1e-5), Some(0.0));
        for odd in [vec![], vec![0.0], vec![5.0, 5.0], vec![f64::NAN], vec![-1e308, 1e308]] {
            for axis in [Axis::linear(""), Axis::logarithmic("")] {
                assert!(axis.scale(odd.iter().copied()).ticks().len() <= 30, "{odd:?}");
            }
        }
    }

    #[test]
    fn a_peak_survives_thinning() {
        let points: Vec<(f64, f64)> = (0..100_000).map(|k| (f64::from(k), f64::from(u8::from(k == 54_321)))).collect();
        let line = Line { label: String::new(), points, marks: Vec::new() };
        let drawn = path(&line, |(x, y)| Some((x, y)));
        assert!(drawn.contains("54321.0 1.0"));
        assert!(drawn.matches(['M', 'L']).count() <= 2 * MOST_POINTS);
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let line = Line { label: "<a> & b".to_owned(), points: vec![(0.0, 0.0), (1.0, f64::NAN)], marks: Vec::new() };
        let chart = Chart { title: "<t>".to_owned(), x: Axis::linear("s"), y: Axis::linear("m"), lines: vec![line] };
        let svg = svg(&[chart]);
        assert!(svg.contains("&lt;a&gt; &amp; b") && !svg.contains("<t>") && !svg.contains("NaN"));
    }
}
