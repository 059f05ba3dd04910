// The panel of Weir as a whole: how long changes take, what was rejected lately, and what to do while there is nothing.

import { chart, summary } from "../chart.js";
import { glyph, h } from "../dom.js";
import { code, section, total } from "../parts.js";
import { nackItem } from "./rejections.js";

/** How many rejections are shown here. */
const SHOWN = 5;

export function overview({ fleet, latency, width }) {
  return {
    title: "Weir",
    async draw() {
      const { nacks, ready, pending, draining, streams, had_clients: had } = fleet.summary;
      const items = nacks.slice(0, SHOWN);
      return [
        ready ? null : missing(pending), draining ? leaving() : null, total(streams) === 0 ? nobody(had) : null,
        changes(latency, width()),
        section("Latest rejections", items.length === 0
          ? h("p", { class: "calm" }, "No client has rejected anything since this Weir started.")
          : [h("ul", { class: "list" }, items.map(nackItem)),
            nacks.length > SHOWN ? h("p", {}, h("a", { href: "#/rejections" }, "All that are remembered")) : null]),
      ];
    },
  };
}

function missing(pending) {
  return h("div", { class: "notice" }, glyph("behind"), h("div", {}, h("strong", {}, "Not ready yet: "),
    pending.length === 1 ? `${pending[0]}.` : h("ul", {}, pending.map((one) => h("li", {}, one)))));
}

function leaving() {
  return h("div", { class: "notice" }, glyph("behind"), h("p", {}, "Clients are being moved elsewhere: this Weir is drained."));
}

/** `had`: clients were connected before. */
function nobody(had) {
  if (had) {
    return section("Nobody is connected any more",
      h("p", { class: "calm" }, "Every client that was connected to this Weir has left. They appear here again as soon as they connect."));
  }
  return section("Nobody is connected yet",
    h("p", {}, "Point an Envoy or a gRPC client at the address in ", code("[downstream] listen"),
      " of the configuration, or be a client yourself:"),
    h("pre", {}, code("weir get cds --server HOST:PORT")),
    h("p", { class: "calm" }, "Clients appear here as soon as they connect."));
}

function changes(latency, width) {
  const shapes = [["accepted", "accepted by all"], ["late", "not answered in time"], ["rejected", "rejected by somebody"]];
  const about = h("p", { class: "calm" }, "From their arrival from a control plane to the answer of the last client that they concern.");
  if (latency.changes.length === 0) {
    return section("How long changes take", about, h("p", { class: "calm" }, "None was followed yet: there will be a chart when a control plane has sent a change."));
  }
  return section("How long changes take", about, chart(latency, width),
    h("ul", { class: "legend" }, shapes.map(([name, words]) => h("li", {}, glyph(`mark-${name}`), words))),
    h("p", { class: "calm" }, summary(latency)));
}

