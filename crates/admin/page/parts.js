// What tree and panels are put together from: states, bars, facts, tables.

import { count, words } from "./format.js";
import { glyph, h, svg } from "./dom.js";

/** States of clients, the worst first. */
export const STATES = ["rejecting", "behind", "in-sync"];

/** The least share of a bar that is seen, in percent. */
const LEAST = 4;

/** A state: its sign, and the word for it. */
export function state(name) {
  return h("span", { class: `state ${name}` }, glyph(name), h("span", {}, words(name)));
}

/** The same where there is room for the sign only; the word is there for those who listen. */
export function sign(name) {
  return h("span", { class: `state ${name}` }, glyph(name), h("span", { class: "hidden-text" }, words(name)));
}

/** How many of those that are counted are in a state. */
export function number(counts, name) {
  return counts[name.replace("-", "_")];
}

/** How many there are in each state, each at a place of its own; states that nobody is in are left blank. */
export function tally(counts) {
  return h("span", { class: "tally" }, STATES.map((name) => (number(counts, name) === 0 ? h("span", {})
    : h("span", { class: `state ${name}` }, glyph(name), h("span", {}, count(number(counts, name))),
      h("span", { class: "hidden-text" }, ` ${words(name)} `)))));
}

/** The shares of the states as a bar. Whoever is in a state is seen, however few they are. */
export function bar(counts) {
  const present = [...STATES].reverse().filter((name) => number(counts, name) > 0);
  const widths = present.map((name) => Math.max(LEAST, (number(counts, name) / total(counts)) * 100));
  const scale = 100 / widths.reduce((sum, width) => sum + width, 0);
  let x = 0;
  const segments = present.map((name, index) => {
    const width = widths[index] * scale;
    const segment = svg("rect", { class: name, x: x.toFixed(2), y: 0, width: width.toFixed(2), height: 8 });
    x += width;
    return segment;
  });
  return svg("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, segments);
}

export function total(counts) {
  return STATES.reduce((sum, name) => sum + number(counts, name), 0);
}

/** The worst state that somebody is in; none if there is nobody. */
export function worst(counts) {
  return STATES.find((name) => number(counts, name) > 0) ?? "none";
}

/** Of how much of a subscription there is nothing to give, and why; in a few words each. */
export function lacking({ unanswered, away, denied, over_limit: overLimit }) {
  return [
    [unanswered - away, "not answered upstream"], [away, "with nobody to ask"], [denied, "denied"], [overLimit, "over the limit"],
  ].filter(([number]) => number > 0).map(([number, words]) => `${count(number)} ${words}`);
}

/** A list of facts: pairs of what and how. Facts that are null are left out. */
export function facts(entries) {
  return h("dl", { class: "facts" }, entries.filter(([, value]) => value !== null && value !== "").map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A table with a caption that states what it is of. */
export function table(caption, heads, rows) {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "hidden-text" }, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows)));
}

/** A section of a panel. */
export function section(title, ...children) {
  return h("section", { "data-key": `section ${title}` }, h("h3", {}, title), children);
}

/** A name or value, as it is written elsewhere. */
export function code(text, attributes = {}) {
  return h("code", attributes, text);
}

/** A time that is read as how long ago it was. */
export function moment(at, shown) {
  return h("time", { datetime: at, title: at }, shown);
}
