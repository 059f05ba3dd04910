// The panels of what is found by the tree: a stream to a control plane, a type, a view, the clients in a state.

import { ask, path } from "../api.js";
import { ago, count, counted, pairs, time, typeName, typePath, words } from "../format.js";
import { glyph, h } from "../dom.js";
import { Pages, pager } from "../pages.js";
import { bar, code, facts, lacking, moment, section, state, tally } from "../parts.js";
import { viewName } from "../rows.js";

const PAGE = 25;

/** The streams to control planes, or the one that has this identity. */
export function upstreams(wanted) {
  const from = wanted === undefined ? null : Number(wanted) - 1;
  const pages = new Pages((after, limit) => ask("upstreams", { after: after ?? from, limit }), wanted === undefined ? PAGE : 1);
  return {
    title: "Control planes",
    async draw() {
      await pages.refresh();
      const shown = wanted === undefined ? pages.items : pages.items.filter((one) => String(one.id) === wanted);
      if (wanted === undefined && pages.items.length === 0) {
        return [h("p", {}, "There are no streams to control planes. They open as soon as a client asks for something that an ",
          code("[[upstream]]"), " of the configuration is for.")];
      }
      if (shown.length === 0) return [h("p", {}, "This stream is gone.")];
      return [shown.map(upstream), wanted === undefined ? pager(pages, "turn") : null];
    },
    act: (_, direction) => pages.turn(direction),
  };
}

function upstream(one) {
  const parameters = one.parameters === null ? null : pairs(one.parameters).join(" ") || "no parameters";
  return section(one.endpoint ?? "Not connected",
    h("p", { class: "lead" }, state(one.state), h("span", { class: "calm" }, " since ", moment(one.since, `${time(one.since)} · ${ago(one.since)}`))),
    facts([["Names of", one.authority || "no authority"], ["Carries", one.carries], ["For clients with", parameters],
      ["Not vouched for", one.unconfirmed.map((of) => `${counted(of.resources, "resource")} of ${of.type} from the store`).join(", ")]]),
    one.withheld.map(withheld),
    one.last_error && [h("p", { class: "calm" }, "The last thing that went wrong, ", moment(one.last_error.at, `${time(one.last_error.at)} · ${ago(one.last_error.at)}`), ":"),
      h("pre", { class: "quote" }, one.last_error.message)]);
}

/** Losses that are too many to be believed at once. */
function withheld(of) {
  const what = of.loss === "endpoints" ? "assignment without endpoints" : "removal";
  return h("div", { class: "notice" }, glyph("behind"), h("p", {}, `${counted(of.removals, what)} of ${count(of.of)} ${typeName(of.type, of.type_url)}, withheld since ${time(of.since)}: `,
    code(of.names.join(", ")), of.removals > of.names.length ? ", …" : ""));
}

/** A type: how its clients stand, and the resources that are held of it. */
export function type(at, fleet) {
  const pages = new Pages((after, limit) => ask("resources", { type: typeUrlOf(fleet, at), after, limit }), PAGE);
  return {
    title: at,
    async draw() {
      const found = fleet.summary.types.find((one) => typePath(one.type, one.type_url) === at);
      this.title = found ? typeName(found.type, found.type_url) : at;
      await pages.refresh();
      return [
        found ? standing(found) : h("p", {}, "Nobody is subscribed to this type."),
        section("Resources", pages.items.length === 0 ? h("p", { class: "calm" }, "None is held, and none is asked for.")
          : [h("ul", { class: "list tight" }, pages.items.map((one) => resourceItem(one))), pager(pages, "turn")]),
      ];
    },
    act: (_, direction) => pages.turn(direction),
  };
}

/** The URL of a type by how it stands in paths. */
function typeUrlOf(fleet, at) {
  return fleet.summary.types.find((one) => typePath(one.type, one.type_url) === at)?.type_url ?? at;
}

/** A resource in a line: where it leads to, and what there is of it. */
function resourceItem(one) {
  const subscribers = one.variants.reduce((sum, variant) => sum + variant.subscribers, 0);
  return h("li", {}, h("p", {}, h("a", { href: `#/${path("resource", typePath(one.type, one.type_url), one.name)}` }, code(one.name)),
    h("span", { class: "calm push" }, one.variants.length === 0 ? "asked for, and not there"
      : `${counted(one.variants.length, "variant")}, ${counted(subscribers, "subscription")}`)));
}

function standing(states) {
  return h("p", { class: "lead" }, bar(states), tally(states));
}

/** A view: what its clients share. */
export function view(typeAt, id, fleet) {
  return {
    title: `View ${id}`,
    async draw() {
      const after = Number(id) > 0 ? Number(id) - 1 : null;
      const { items } = await ask("views", { type: typeUrlOf(fleet, typeAt), after, limit: 1 });
      const found = items.find((one) => one.id === Number(id));
      if (!found) return [h("p", {}, "This view is gone: nobody is subscribed to just this any more.")];
      this.title = viewName(found);
      const behind = found.head > found.sent;
      return [
        standing(found),
        facts([
          ["Type", typeName(found.type, found.type_url)],
          ["Shared by", counted(found.streams, "stream")],
          ["Sent", behind ? `up to commit ${count(found.sent)} of ${count(found.head)}` : `everything, up to commit ${count(found.head)}`],
          ["Lacks", lacking(found).join(", ")],
        ]),
        section(found.subscribed > found.names.length ? `The first ${found.names.length} of ${count(found.subscribed)} names` : "Names",
          h("ul", { class: "list tight" }, found.names.map((one) => h("li", {}, h("p", {}, code(one.name), " ",
            pairs(one.parameters).map((pair) => h("span", { class: "chip" }, pair)), one.located ? h("span", { class: "calm" }, " by locator") : null))))),
      ];
    },
  };
}

/** All clients in a state. */
export function clients(wanted) {
  const pages = new Pages((after, limit) => ask("clients", { state: wanted, after, limit }), PAGE);
  return {
    title: `Clients ${words(wanted)}`,
    async draw() {
      await pages.refresh();
      if (pages.items.length === 0) return [h("p", { class: "calm" }, `No client is ${words(wanted)}.`)];
      return [h("ul", { class: "list" }, pages.items.map((one) => clientItem(one, wanted))), pager(pages, "turn")];
    },
    act: (_, direction) => pages.turn(direction),
  };
}

function clientItem(one, wanted) {
  const types = one.types.filter((status) => status.state === wanted).map((status) => typeName(status.type, status.type_url));
  const nack = wanted === "rejecting" && one.types.find((status) => status.state === "rejecting")?.last_nack;
  return h("li", { "data-key": `client ${one.id}` },
    h("p", { class: "head" }, state(one.state), h("a", { href: `#/${path("client", one.id)}` }, code(one.node.id || one.peer)),
      h("span", { class: "calm push" }, types.join(", "))),
    nack ? h("pre", { class: "quote" }, nack.message || "It gave no reason.") : null);
}

