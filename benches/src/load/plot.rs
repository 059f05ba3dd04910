//! Latency against the number of streams, as a picture: both axes logarithmic.

use std::fmt::Write as _;

use super::report::{Run, number};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// Around the area with the lines.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;

/// What is drawn, with its colour.
const LINES: [(&str, &str); 3] = [("p50", "#2b6cb0"), ("p99", "#c05621"), ("last", "#9b2c2c")];

/// A logarithmic axis over whole decades.
struct Axis {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn over(values: &[f64], start: f64, end: f64) -> Self {
        let positive = values.iter().copied().filter(|value| *value > 0.0);
        let (least, most) = positive.fold((f64::MAX, 1e-3), |(low, high), v| (v.min(low), v.max(high)));
        let from = least.min(most).log10().floor();
        Self { from, to: most.log10().ceil().max(from + 1.0), start, end }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(1e-9).log10() - self.from) / (self.to - self.from);
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.from as i32..=self.to as i32).map(|exponent| 10f64.powi(exponent))
    }
}

/// An SVG of p50, p99 and the last, in ms, of these runs.
pub(crate) fn svg(runs: &[Run]) -> String {
    let series = LINES.map(|(name, colour)| {
        let mut points: Vec<_> =
            runs.iter().filter_map(|run| Some((run.streams as f64, run.get(name)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (name, colour, points)
    });
    let all = || series.iter().flat_map(|(_, _, points)| points);
    let xs: Vec<_> = all().map(|point| point.0).collect();
    let ys: Vec<_> = all().map(|point| point.1).collect();
    let x = Axis::over(&xs, LEFT, WIDTH - RIGHT);
    let y = Axis::over(&ys, HEIGHT - BOTTOM, TOP);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    grid(&mut svg, &x, &y);
    for (name, colour, points) in &series {
        line(&mut svg, name, colour, points.iter().map(|(n, ms)| (x.at(*n), y.at(*ms))));
    }
    let scenario = runs.first().map_or("", |run| run.scenario);
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    text(&mut svg, middle, 18.0, "middle", &format!("{scenario}: latency in ms against streams"));
    svg.push_str("</svg>\n");
    svg
}

fn grid(svg: &mut String, x: &Axis, y: &Axis) {
    const GREY: &str = "stroke=\"#ddd\"";
    for streams in x.decades() {
        let at = x.at(streams);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {:.1}V{TOP}\" {GREY}/>", HEIGHT - BOTTOM);
        text(svg, at, HEIGHT - BOTTOM + 20.0, "middle", &number(streams));
    }
    for ms in y.decades() {
        let at = y.at(ms);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{:.1}\" {GREY}/>", WIDTH - RIGHT);
        text(svg, LEFT - 8.0, at + 4.0, "end", &number(ms));
    }
}

fn line(svg: &mut String, name: &str, colour: &str, points: impl Iterator<Item = (f64, f64)>) {
    let points: Vec<_> = points.collect();
    let Some((last_x, last_y)) = points.last() else { return };
    let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (x, y) in &points {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    text(svg, last_x + 8.0, last_y + 4.0, "start", name);
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(streams: usize, ms: f64) -> Run {
        let mut run = Run::new("fan-out", "", streams);
        ["p50", "p99", "last"]
            .into_iter()
            .zip(1..)
            .for_each(|(name, n)| run.add(name, ms * f64::from(n), "ms"));
        run
    }

    #[test]
    fn every_run_is_a_point_of_every_line_inside_the_picture() {
        let svg = svg(&[run(1000, 3.0), run(10_000, 40.0)]);
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert_eq!(svg.matches("<circle").count(), 6);
        for at in svg.split("cx=\"").skip(1) {
            let x: f64 = at.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn a_decade_is_as_wide_as_the_next() {
        let axis = Axis::over(&[1.0, 100.0], 0.0, 200.0);
        assert_eq!([1.0, 10.0, 100.0].map(|v| axis.at(v)), [0.0, 100.0, 200.0]);
        assert_eq!(axis.decades().collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn nothing_and_zero_can_be_drawn() {
        assert!(svg(&[]).ends_with("</svg>\n"));
        assert!(!svg(&[run(10, 0.0)]).contains("NaN"));
    }
}
