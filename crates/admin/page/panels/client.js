// The panel of a client: who it is, why it has these parameters, how it stands with each type, what it is given.

import { ask, path } from "../api.js";
import { ago, count, duration, pairs, time, typeName, typePath } from "../format.js";
import { glyph, h } from "../dom.js";
import { Pages, pager } from "../pages.js";
import { code, facts, lacking, moment, section, state, table } from "../parts.js";

const PAGE = 25;

export function client(id) {
  const given = new Pages((after, limit) => ask(path("clients", id, "resources"), { after, limit }), PAGE);
  const kept = new Pages((after, limit) => ask(path("clients", id, "resources"), { obstacle: "any", after, limit }), PAGE);
  return {
    title: `Client ${id}`,
    async draw() {
      const shown = await ask(path("clients", id));
      await given.refresh();
      await kept.refresh();
      this.title = shown.node.id || `Client ${id}`;
      return [
        h("p", { class: "lead" }, state(shown.state)),
        rejected(shown), keptBack(id, kept), identity(shown), parameters(shown), types(shown), resources(id, given),
      ];
    },
    act: (list, direction) => (list === "kept" ? kept : given).turn(direction),
  };
}

function identity(shown) {
  const { node } = shown;
  const { region, zone, sub_zone: subZone } = node.locality;
  const dialect = { sotw: "state of the world", delta: "incremental", rest: "polls over REST" }[shown.dialect];
  return facts([
    ["Cluster", node.cluster],
    ["Runs", [node.user_agent, node.user_agent_version].filter(Boolean).join(" ")],
    ["Place", [region, zone, subZone].filter(Boolean).join(" / ")],
    ["Connected", [moment(shown.since, `${time(shown.since)} · ${ago(shown.since)}`), ` from ${shown.peer}`]],
    ["Protocol", `${shown.service}, ${shown.transport}, ${dialect}`],
    ["Stream", shown.streams_of_node > 1 ? `number ${shown.id}, one of ${count(shown.streams_of_node)} of this node` : `number ${shown.id}`],
  ]);
}

function parameters(shown) {
  const located = shown.types.flatMap((type) => (type.locators ?? []).map((set) => ({ type, ...set })));
  if (shown.parameters.length === 0 && located.length === 0) {
    return section("Dynamic parameters", h("p", { class: "calm" }, "None: no rule of the configuration gives it any, and it sends none."));
  }
  return section("Dynamic parameters, and why",
    h("ul", { class: "list" }, shown.parameters.map(parameter)),
    located.map((set) => h("div", {},
      h("p", { class: "calm" }, `In ${count(set.locators)} of its locators of ${typeName(set.type.type, set.type.type_url)}:`),
      h("ul", { class: "list" }, set.parameters.map(parameter)))));
}

function parameter({ key, value, origin }) {
  return h("li", {}, h("p", {}, h("span", { class: "chip" }, `${key}=${value}`), " ", h("span", { class: "calm" }, why(origin))));
}

/** Where a parameter comes from, in a sentence. */
function why(origin) {
  if (origin.source === "locator") return "Stated by the client in its locators.";
  if (origin.source === "node") return "Stands for the part of its node that goes upstream.";
  const rule = `Rule ${origin.rule + 1} of [[dynamic_parameters]] reads ${origin.from}`;
  if (origin.defaulted) return `${rule}${origin.value === null ? ", which is not there" : `, which is “${origin.value}”`}; so its default has to do.`;
  return origin.value === null ? `${rule}.` : `${rule}, which is “${origin.value}”.`;
}

function types(shown) {
  const rows = shown.types.map((type) => h("tr", {},
    h("th", { scope: "row" }, typeName(type.type, type.type_url)),
    h("td", {}, state(type.state), since(type)),
    h("td", { class: "number" }, count(type.subscribed)),
    h("td", {}, versions(type))));
  return section("What it is subscribed to", rows.length === 0
    ? h("p", { class: "calm" }, "Nothing yet.")
    : table("Types", ["Type", "State", "Names", "Version"], rows));
}

/** What is not as it should be, in a few words. */
function since(type) {
  const owes = type.lag_seconds > 0 ? [`owes an answer for ${duration(type.lag_seconds)}`] : [];
  return [...owes, ...lacking(type)].map((words) => h("div", { class: "calm" }, words));
}

function versions({ state, sent, accepted }) {
  if (!sent) return state === "in-sync" ? "had the newest when it came" : "nothing was sent yet";
  if (sent.version === accepted?.version) return [code(sent.version), " accepted"];
  return [h("div", {}, code(sent.version), " sent"), h("div", {}, accepted ? [code(accepted.version), " accepted"] : "none accepted")];
}

/** The newest rejection of each type. */
function rejected(shown) {
  const nacks = shown.types.filter((type) => type.last_nack);
  if (nacks.length === 0) return null;
  return section("What it rejected", h("ul", { class: "list" }, nacks.map(({ last_nack: nack, ...type }) => h("li", {},
    h("p", { class: "head" }, glyph(type.state === "rejecting" ? "rejecting" : "none"), h("strong", {}, typeName(type.type, type.type_url)),
      type.state === "rejecting" ? null : h("span", { class: "calm" }, "has accepted something since"),
      h("span", { class: "push" }, moment(nack.at, `${time(nack.at)} · ${ago(nack.at)}`))),
    h("pre", { class: "quote" }, nack.message || "It gave no reason.")))));
}

/** What it asks for and does not get, whatever upstream has. */
function keptBack(id, kept) {
  if (kept.items.length === 0) return null;
  const why = { denied: "denied", "over-limit": "over the limit", away: "nobody to ask" };
  return section("What is kept from it", h("ul", { class: "list tight" }, kept.items.map((item) => h("li", {},
    h("p", {}, h("a", { href: explained(item, id) }, code(item.name)), " ", h("span", { class: "chip" }, item.type),
      h("span", { class: "warn push" }, why[item.obstacle])),
    h("p", { class: "calm" }, item.error)))), pager(kept, "kept"));
}

function resources(id, given) {
  if (given.items.length === 0) return section("What it is given", h("p", { class: "calm" }, "Nothing yet."));
  const rows = given.items.map((item) => h("tr", {},
    h("td", {}, item.type === "other" ? typeName(item.type, item.type_url) : item.type),
    h("td", {}, h("a", { href: explained(item, id) }, code(item.name)), item.asked === item.name ? null : h("span", { class: "calm" }, ` by ${item.asked}`)),
    h("td", {}, item.constraints ?? missing(item)),
    h("td", {}, item.version ? code(item.version) : "–")));
  return section("What it is given", table("Resources", ["Type", "Name: why this one", "For", "Version"], rows), pager(given, "turn"));
}

/** An explanation is of plain names with the parameters of the client; of a locator, with those that it carries. */
function explained(item, id) {
  const query = item.located ? pairs(item.parameters).map((pair) => ["param", pair]) : [["client", id]];
  return `#/${path("resource", typePath(item.type, item.type_url), item.name)}?${new URLSearchParams(query)}`;
}

function missing(item) {
  const words = { unknown: "upstream has not answered yet", "timed-out": "upstream did not answer in time", absent: "upstream has none" };
  return h("span", { class: "warn" }, item.error ?? words[item.absence] ?? "nothing");
}

