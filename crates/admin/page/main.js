// The page: it puts the parts together, and has everything read once more when Weir states how it is.

import { path, Refused, Unreachable } from "./api.js";
import { Fleet } from "./fleet.js";
import { Connection, numbers } from "./header.js";
import { Latency } from "./latency.js";
import { Live } from "./live.js";
import { Panel } from "./panel.js";
import { rows } from "./rows.js";
import { Search } from "./search.js";
import { Tree } from "./tree.js";

/** How often what is shown is read again at most, in milliseconds. */
const EVERY = 2000;
/** How often it is read again at least: ages grow while nothing happens. In milliseconds. */
const AT_LEAST_EVERY = 10_000;

const byId = (id) => document.getElementById(id);

const fleet = new Fleet();
const latency = new Latency();
const tree = new Tree(byId("tree"), { toggle, open });
const panel = new Panel(byId("panel"), { fleet, latency, width: () => Math.max(300, byId("panel").querySelector(".body").clientWidth) });
const live = new Live({ show, received: () => connection.received(), lost: (reason) => connection.lost(reason) });
const connection = new Connection(byId("connection"), byId("banner"), () => live.hurry());
const search = new Search(byId("search"), byId("found"), byId("found-status"), (hash) => goTo(hash, true));

const narrow = matchMedia("(max-width: 860px)");

let selected = "weir";
let reading = null;
let dirty = false;

function draw() {
  // A link elsewhere may have led away from what was chosen in the tree.
  const here = location.hash || "#/";
  tree.show(rows(fleet, address(selected) === here ? selected : here === "#/" ? "weir" : null));
  if (fleet.summary) numbers(byId("numbers"), fleet.summary, latency);
}

/** A lost connection is reported by the stream of events, which then breaks too. Refused requests are repeated. */
function forgive(error) {
  if (error instanceof Refused) console.warn(error.message);
  else if (!(error instanceof Unreachable)) throw error;
}

/** Something came of the stream of events. */
function show(summary) {
  const first = fleet.summary === null;
  fleet.summary = summary;
  connection.alive(summary);
  document.body.classList.remove("waiting");
  draw();
  if (first) panel.go();
  read();
}

/** Reads what is shown once more, unless that is under way: then after it. */
function read() {
  dirty = true;
  reading ??= readAll().finally(() => { reading = null; });
}

function again() {
  if (fleet.summary !== null) read();
}

async function readAll() {
  while (dirty && document.visibilityState === "visible") {
    dirty = false;
    const started = Date.now();
    try {
      await fleet.refresh();
      await latency.refresh(fleet.summary.propagation);
      draw();
      await panel.refresh();
    } catch (error) {
      forgive(error);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, EVERY - (Date.now() - started))));
  }
}

/** Folds or unfolds a row, and reads what is in it at once. */
async function toggle(id) {
  if (fleet.isUnfolded(id)) fleet.fold(id);
  else fleet.unfold(id);
  draw();
  await attempt(() => fleet.refresh());
  draw();
}

/** A row of the tree was chosen. */
async function open(id) {
  const turn = /^turn (next|previous) (.*)$/.exec(id);
  if (turn) {
    await attempt(() => fleet.turn(turn[2], turn[1]));
    draw();
    return;
  }
  selected = id;
  // On a narrow screen the panel is below the tree, and not in sight.
  goTo(address(id), narrow.matches);
  draw();
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    forgive(error);
  }
}

/** Where the panel of a row is. */
function address(id) {
  const [kind, ...rest] = id.split(" ");
  switch (kind) {
    case "planes": return "#/upstreams";
    case "upstream": return `#/${path("upstream", rest.join(" "))}`;
    case "type": return `#/${path("type", fleet.pathOf(rest[0]))}`;
    case "view": return `#/${path("view", fleet.pathOf(fleet.typeOf(Number(rest[0]))), rest[0])}`;
    case "client": return `#/${path("client", rest[0])}`;
    default: return "#/";
  }
}

function skip(event, to) {
  event.preventDefault();
  to.focus();
}

let moving = true;

/** Shows a panel. Whoever comes from elsewhere than the tree is taken there. */
function goTo(hash, focus) {
  moving = focus;
  if (location.hash === hash || (hash === "#/" && location.hash === "")) arrived();
  else location.hash = hash;
}

async function arrived() {
  // The first summary brings the first panel.
  if (fleet.summary === null) return;
  const focus = moving;
  moving = true;
  draw();
  await panel.go();
  if (focus) panel.focus();
}

window.addEventListener("hashchange", arrived);
// Addresses are of panels, so that these links only move the focus.
document.querySelector(".skip[href='#tree']").addEventListener("click", (event) => skip(event, tree));
document.querySelector(".skip[href='#panel-title']").addEventListener("click", (event) => skip(event, panel));
document.addEventListener("visibilitychange", again);
window.addEventListener("resize", () => fleet.summary && panel.refresh());
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, dialog");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});

draw();
setInterval(again, AT_LEAST_EVERY);
live.run();
