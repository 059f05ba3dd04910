// The chart of how long changes took: to the left each of them at its time, to the right how they are spread. What
// became of a change is shown by the shape of its mark, and in words below.

import { svg } from "./dom.js";
import { count, duration, time, typeName } from "./format.js";
import { OUTCOMES } from "./latency.js";

const HEIGHT = 196;
const [TOP, BOTTOM, LEFT] = [12, 26, 46];
/** The times that have a line, in seconds, and what they are called. */
const LINES = [[0.001, "1 ms"], [0.01, "10 ms"], [0.1, "100 ms"], [1, "1 s"], [10, "10 s"], [100, "100 s"]];
/** What the axis reaches to, in seconds, and how many bars there are for a factor of ten. */
const [SHORTEST, LONGEST, BARS] = [0.0005, 400, 4];
/** What the chart may cover, in seconds, and how that is called. */
const SPANS = [
  [30, "30 s"], [60, "1 min"], [180, "3 min"], [600, "10 min"], [1800, "30 min"], [3600, "1 h"], [10_800, "3 h"], [21_600, "6 h"],
  [43_200, "12 h"], [86_400, "1 d"], [259_200, "3 d"], [604_800, "7 d"], [2_592_000, "30 d"],
];

function y(seconds) {
  const clamped = Math.min(Math.max(seconds, SHORTEST), LONGEST);
  const share = Math.log(clamped / SHORTEST) / Math.log(LONGEST / SHORTEST);
  return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP));
}

function round(number) {
  return Number(number.toFixed(1));
}

/** The chart, `width` pixels wide. */
export function chart(latency, width) {
  const side = Math.min(110, Math.round(width / 4));
  const end = width - side - 16;
  const oldest = (Date.now() - new Date(latency.changes.at(-1)?.at ?? Date.now())) / 1000;
  const covered = SPANS.find(([seconds]) => oldest <= seconds) ?? SPANS.at(-1);
  const box = { class: "chart", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": summary(latency) };
  return svg("svg", box, grid(width, end, covered), marks(latency.changes, end, covered[0]),
    bars(latency.changes, width - side, width), quantiles(latency, width - side, width));
}

/** What the chart shows, in words. */
export function summary(latency) {
  const n = latency.changes.length;
  if (n === 0) return "No change was followed yet.";
  const which = n === 1 ? "The one change that was followed" : `Half of the newest ${count(n)} changes`;
  const most = n === 1 ? "" : `, 99 % within ${duration(latency.quantile(0.99))}`;
  const bad = ["late", "rejected"].map((outcome) => `${count(latency.ended(outcome))} ${outcome}`).join(", ");
  return `${which} had its last answer within ${duration(latency.quantile(0.5))}${most}; ${bad}.`.replace("changes had its", "changes had their");
}

function grid(width, end, [, name]) {
  const lines = LINES.flatMap(([seconds, text]) => [
    svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(seconds), y2: y(seconds) }),
    svg("text", { x: LEFT - 7, y: y(seconds) + 3.5, "text-anchor": "end" }, text),
  ]);
  const labels = [[LEFT, "start", `${name} ago`], [end, "end", "now"], [width, "end", "spread"]];
  return svg("g", { class: "axis" }, lines,
    labels.map(([x, anchor, text]) => svg("text", { x, y: HEIGHT - 8, "text-anchor": anchor }, text)));
}

function marks(changes, end, covered) {
  const now = Date.now();
  const inside = changes.filter(({ at }) => now - new Date(at) <= covered * 1000);
  // What is bad is drawn last, so that nothing hides it.
  const drawn = OUTCOMES.flatMap((outcome) => inside.filter((change) => change.outcome === outcome));
  return svg("g", {}, drawn.map((change) => {
    const x = end - ((now - new Date(change.at)) / (covered * 1000)) * (end - LEFT);
    const label = `${typeName(change.type, change.type_url)}, ${time(change.at)}: ${duration(change.seconds)} for ${count(change.streams)} streams, ${change.outcome}`;
    const attributes = { class: `mark ${change.outcome}`, d: shape(change.outcome, round(x), y(change.seconds)), "data-key": `change ${change.number}` };
    return svg("path", attributes, svg("title", {}, label));
  }));
}

/** A disc for what was accepted, a triangle for what was late, a cross for what was rejected. */
function shape(outcome, x, middle) {
  if (outcome === "accepted") return `M${x - 3},${middle}a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z`;
  if (outcome === "late") return `M${x},${middle - 5}l5,9h-10z`;
  return `M${x - 4},${middle - 4}l8,8M${x + 4},${middle - 4}l-8,8`;
}

/** How many changes there are of each length. */
function bars(changes, from, to) {
  const bins = new Map();
  for (const { seconds } of changes) {
    const bin = Math.floor(Math.log10(Math.min(Math.max(seconds, SHORTEST), LONGEST)) * BARS);
    bins.set(bin, (bins.get(bin) ?? 0) + 1);
  }
  const most = Math.max(...bins.values());
  return svg("g", { class: "bars" }, [...bins].sort(([a], [b]) => a - b).map(([bin, n]) => {
    const [low, high] = [bin, bin + 1].map((edge) => 10 ** (edge / BARS));
    const label = `${count(n)}, ${duration(low)} to ${duration(high)}`;
    const height = Math.max(1.5, y(low) - y(high) - 1.5);
    return svg("rect", { x: from, y: y(high), width: round(Math.max(1.5, (n / most) * (to - from))), height: round(height) }, svg("title", {}, label));
  }));
}

/** Where half and nearly all of the changes end. */
function quantiles(latency, from, to) {
  if (latency.changes.length < 2) return null;
  const [half, most] = [0.5, 0.99].map((share) => y(latency.quantile(share)));
  const lines = [[half, "50 %", half + 13], [most, "99 %", most - 5]];
  // Two lines at one place would be unreadable.
  const shown = half - most < 12 ? lines.slice(1) : lines;
  return svg("g", { class: "quantile" }, shown.flatMap(([at, name, text]) => [
    svg("line", { x1: from, x2: to, y1: at, y2: at }),
    svg("text", { x: to, y: text, "text-anchor": "end" }, name),
  ]));
}
