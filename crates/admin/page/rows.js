// The rows of the tree: how control planes, Weir, types, views and clients look in a line.

import { typeId, viewId } from "./fleet.js";
import { ago, count, counted, duration, pairs, typeName, words } from "./format.js";
import { glyph, h } from "./dom.js";
import { bar, lacking, state, tally, total, worst } from "./parts.js";

/** All rows of the tree, from the top. */
export function rows(fleet, selected) {
  const { summary } = fleet;
  if (!summary) return [];
  const found = [];
  const add = (row) => found.push({ expanded: null, state: "none", busy: false, selected: row.id === selected, ...row });
  planes(fleet, add);
  weir(fleet, add);
  return found;
}

/** A fold: whether it is open, and whether what is in it is still on its way. */
function fold(fleet, id) {
  return { expanded: fleet.isUnfolded(id), busy: fleet.isUnfolded(id) && !fleet.list(id) };
}

function planes(fleet, add) {
  const { upstreams } = fleet.summary;
  const all = upstreams.in_sync + upstreams.syncing + upstreams.disconnected;
  const worstState = upstreams.disconnected > 0 ? "disconnected" : upstreams.syncing > 0 ? "syncing" : "in-sync";
  const status = [
    [upstreams.in_sync, "in-sync"], [upstreams.syncing, "syncing"], [upstreams.disconnected, "disconnected"],
  ].filter(([number]) => number > 0).map(([number, name]) =>
    h("span", { class: `state ${name}` }, glyph(name), `${count(number)} ${words(name)}`));
  add({
    id: "planes", kind: "top", level: 1, position: 1, size: 2, label: "Control planes", state: all ? worstState : "none",
    ...fold(fleet, "planes"), expanded: all > 0 ? fleet.isUnfolded("planes") : null,
    content: [h("span", { class: "label" }, "Control planes"), h("span", { class: "more" }, counted(all, "stream")),
      h("span", { class: "end" }, status)],
  });
  listed(fleet, "planes", all, 2, add, (upstream, place) => ({
    ...place, id: `upstream ${upstream.id}`, kind: "upstream", label: upstream.endpoint ?? "not connected", state: upstream.state,
    content: [h("span", { class: "label" }, h("code", {}, upstream.endpoint ?? "not connected")),
      h("span", { class: "more" }, upstream.authority ? h("span", { class: "chip" }, upstream.authority) : null,
        chips(upstream.parameters ?? {}), upstream.carries),
      h("span", { class: "end" }, state(upstream.state))],
  }));
}

function weir(fleet, add) {
  const { summary } = fleet;
  const clients = total(summary.streams);
  add({
    id: "weir", kind: "top", level: 1, position: 2, size: 2, label: "Weir", state: worst(summary.streams),
    expanded: summary.types.length > 0 ? fleet.isUnfolded("weir") : null,
    content: [h("span", { class: "label" }, "Weir"), h("span", { class: "more" }, counted(clients, "client")),
      h("span", { class: "end" }, bar(summary.streams), tally(summary.streams))],
  });
  if (!fleet.isUnfolded("weir")) return;
  summary.types.forEach((type, index) => {
    const id = typeId(type);
    add({
      id, kind: "type", level: 2, position: index + 1, size: summary.types.length, label: typeName(type.type, type.type_url),
      state: worst(type), ...fold(fleet, id), expanded: type.views > 0 ? fleet.isUnfolded(id) : null,
      content: [h("span", { class: "label" }, typeName(type.type, type.type_url)),
        h("span", { class: "more" }, type.type === "other" ? null : h("abbr", {}, type.type), counted(type.views, "view")),
        h("span", { class: "end" }, bar(type), tally(type))],
    });
    listed(fleet, id, type.views, 3, add, (view, place) => ({
      ...place, ...viewRow(view), ...fold(fleet, viewId(view)),
      expanded: total(view) > 0 ? fleet.isUnfolded(viewId(view)) : null,
    }), (view) => {
      listed(fleet, viewId(view), total(view), 4, add, (client, clientPlace) => ({ ...clientPlace, ...clientRow(view, client) }));
    });
  });
}

/** The rows of a list, with what leads to its other pages. */
function listed(fleet, id, all, level, add, row, below = () => {}) {
  const list = fleet.list(id);
  if (!list) return;
  const turn = (direction, text) => add({
    id: `turn ${direction} ${id}`, kind: "turn", level, label: text, position: direction === "previous" ? 1 : all, size: all,
    content: [h("span", { class: "label" }, text)],
  });
  if (list.hasPrevious) turn("previous", "↑ Back");
  list.items.forEach((item, index) => {
    add(row(item, { level, position: list.first + index, size: Math.max(all, list.first + index) }));
    below(item);
  });
  const left = Math.max(0, all - list.first - list.items.length + 1);
  if (list.hasNext) turn("next", list.turnsTo ?? `↓ ${left > 0 ? count(left) : ""} more`);
}

function chips(parameters) {
  return pairs(parameters).map((pair) => h("span", { class: "chip" }, pair));
}

/** What a view is of, in a few words. */
export function viewName(view) {
  const names = view.names.map(({ name }) => (name === "*" ? "everything (*)" : name));
  const more = view.subscribed - 1;
  return more > 0 ? `${names[0]} and ${count(more)} more` : names[0] ?? "nothing";
}

function viewRow(view) {
  const name = viewName(view);
  return {
    id: viewId(view), kind: "view", label: name, state: worst(view),
    content: [h("span", { class: "label" }, h("code", {}, name)),
      h("span", { class: "more" }, chips(view.names[0]?.parameters ?? {}),
        lacking(view).map((words) => h("span", { class: "warn" }, words))),
      h("span", { class: "end" }, bar(view), tally(view))],
  };
}

function clientRow(view, client) {
  const type = client.types.find((one) => one.type_url === view.type_url) ?? client;
  const lag = type.lag_seconds > 0 ? `for ${duration(type.lag_seconds)}` : null;
  const nack = type.state === "rejecting" && type.last_nack ? ago(type.last_nack.at) : null;
  return {
    id: `client ${client.id} ${view.id}`, kind: "client", label: client.node.id || client.peer, state: type.state,
    content: [h("span", { class: "label" }, h("code", {}, client.node.id || client.peer)),
      h("span", { class: "more" }, [client.node.cluster, client.node.user_agent].filter(Boolean).join(" · ")),
      h("span", { class: "end" }, h("span", { class: "more" }, lag ?? nack), state(type.state))],
  };
}

