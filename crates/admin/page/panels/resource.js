// The panel of a resource: its variants, who asks for it, and which of them somebody gets and why.

import { ask, path, Refused } from "../api.js";
import { bytes, count, counted, duration, pairs, typeName } from "../format.js";
import { glyph, h } from "../dom.js";
import { code, facts, section, table } from "../parts.js";

/** `query` is of whom it is asked: `client`, or `param` once for each parameter. */
export function resource(type, name, query) {
  const at = path("resources", type, name);
  return {
    title: name,
    async draw() {
      const explained = await ask(`${at}/explain`, { client: query.get("client"), param: query.getAll("param") });
      const [detail, delivery] = [await held(at), await ask(`${at}/delivery`)];
      return [
        h("p", { class: "lead" }, detail ? typeName(detail.type, detail.type_url) : type),
        delivered(delivery), asker(query, explained), outcome(query, explained, delivery), others(explained),
        detail ? [variants(detail), asked(detail), bodies(detail)] : null,
      ];
    },
    /** The form was sent: the explanation for other parameters has an address of its own. */
    submit(form) {
      const texts = form.get("param").split(/[\s,]+/).filter(Boolean);
      location.hash = `#/${path("resource", type, name)}?${new URLSearchParams(texts.map((text) => ["param", text]))}`;
    },
  };
}

/** Under an alias there is nothing but the explanation. */
async function held(at) {
  try {
    return await ask(at);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

function asker(query, { parameters }) {
  const client = query.get("client");
  const who = client === null
    ? "Who asks for it by name, with these dynamic parameters"
    : ["What ", h("a", { href: `#/${path("client", client)}` }, `client ${client}`), " gets, who asks for it by name with these dynamic parameters"];
  return h("form", { class: "ask", "data-form": "ask" },
    h("label", { for: "ask-param" }, who),
    h("div", { class: "line" },
      h("input", { id: "ask-param", name: "param", value: pairs(parameters).join(" "), placeholder: "env=prod zone=eu-a", spellcheck: "false", autocomplete: "off" }),
      h("button", { type: "submit" }, "Explain")));
}

/** How its newest version stands with those who are subscribed to it: the worst comes first. */
function delivered({ streams, accepted, unanswered, waiting, rejected, open }) {
  if (streams === 0) return section("Clients", h("p", { class: "calm" }, "No client is subscribed to it."));
  const worst = rejected > 0 ? "rejecting" : accepted < streams ? "behind" : "in-sync";
  const counts = [[accepted, "accepted"], [unanswered, "unanswered"], [waiting, "waiting"], [rejected, "rejected"]];
  const words = counts.filter(([number]) => number > 0).map(([number, word]) => `${count(number)} ${word}`);
  const first = open.find((one) => one.message);
  return section("Clients", h("div", { class: `verdict ${worst}` }, glyph(worst), h("div", {},
    h("p", {}, `${counted(streams, "client")}: ${words.join(", ")}`),
    first ? h("p", { class: "calm" }, h("a", { href: `#/${path("client", first.client)}` }, first.node || `Client ${first.client}`), `: ${first.message}`) : null)));
}

/** Whether the client that is asked about, or any, rejects the resource. */
function rejects(query, { rejected, open }) {
  const client = query.get("client");
  const standing = open.find((one) => String(one.client) === client);
  return client === null || (!standing && rejected > open.length) ? rejected > 0 : standing?.state === "rejected";
}

function outcome(query, explained, delivery) {
  if (explained.outcome === "served") {
    const { chosen } = explained;
    const refused = rejects(query, delivery);
    return section("Gets", h("div", { class: `verdict ${refused ? "rejecting" : "in-sync"}` }, glyph(refused ? "rejecting" : "in-sync"),
      h("div", {}, h("p", {}, "the variant for ", h("strong", {}, chosen.constraints), ", version ", code(chosen.version)),
        refused ? h("p", {}, `${query.has("client") ? "It rejects" : "Clients reject"} that, or the response that it came in.`) : null, how(chosen))));
  }
  // Nobody was asked about: what a client without parameters would get is not what any of the connected clients gets.
  if (explained.outcome === "nothing-matches" && !query.has("client") && !query.has("param") && delivery.streams > 0) {
    return section("Gets", h("p", { class: "calm" }, "Which variant a client gets depends on its dynamic parameters: enter some above."));
  }
  const why = {
    "not-held": "there is no variant of this name here", unanswered: "the control plane has not answered yet",
    "timed-out": "the control plane did not answer in time", denied: "the access rules do not give it to this client",
    "over-limit": "the client asks for more than it may",
  }[explained.outcome] ?? "no variant matches these parameters";
  return section("Gets", h("div", { class: "verdict rejecting" }, glyph("rejecting"), h("p", {}, `nothing: ${why}.`)));
}

function how(variant) {
  const words = { named: "It came from upstream for somebody who asked for it by name.", wildcard: "It came from upstream by a wildcard.", local: "It comes from files." };
  return h("p", { class: "calm" }, words[variant.reach]);
}

/** The same where variants are distinguished. */
function came(variant) {
  return { named: "by name", wildcard: "by wildcard", local: "from files" }[variant.reach];
}

function others(explained) {
  const items = [
    ...explained.rivals.map((one) => [one, "matches too, and is less preferred"]),
    ...explained.mismatches.map((one) => [one.variant, `does not match: it takes ${one.requirement}, and ${stated(one.given)}`]),
    ...explained.expired.map((one) => [one, "would be here if its time to live were not over"]),
  ];
  const overlaps = explained.overlaps.map(({ pair, witness }) => h("li", {}, h("p", { class: "warn" },
    `The variants for ${pair[0]} and for ${pair[1]} can match the same client`, witness ? `, as one with ${pairs(witness).join(" ")}.` : ".")));
  if (items.length + overlaps.length === 0) return null;
  return section("And why not another", h("ul", { class: "list" },
    items.map(([one, reason]) => h("li", {}, h("p", {}, "For ", h("strong", {}, one.constraints), `, ${came(one)}: `, h("span", { class: "calm" }, `${reason}.`)))),
    overlaps), explained.next === null ? null : h("p", { class: "calm" }, "And more: the admin interface has it in pages."));
}

/** The parameters that a client has for the keys of a constraint. */
function stated(given) {
  return Object.entries(given).map(([key, value]) => (value === null ? `${key} is not stated` : `${key} is ${value}`)).join(", ");
}

function variants(detail) {
  if (detail.variants.length === 0) return section("Variants", h("p", { class: "calm" }, "None: it is only asked for."));
  const rows = detail.variants.map((one) => h("tr", {}, h("th", { scope: "row" }, one.constraints), h("td", {}, came(one)),
    h("td", { class: "number" }, count(one.subscribers)), h("td", {}, code(one.version)), h("td", {}, one.upstream_version || "–"),
    h("td", { class: "number" }, bytes(one.size)), h("td", {}, ttl(one))));
  return section("Variants, the most preferred first",
    table("Variants", ["For", "Came", "Subscribers", "Version", "Upstream's", "Size", "Lives"], rows));
}

function ttl(one) {
  if (one.expired) return h("span", { class: "warn" }, "over");
  return one.ttl_seconds === null ? "on" : `${duration(one.remaining_seconds)} more`;
}

function asked(detail) {
  if (detail.asked.length === 0) return null;
  return section("Asked for by name", facts(detail.asked.map((one) => [
    pairs(one.parameters).join(" ") || "without parameters",
    `${counted(one.streams, "stream")}: ${one.served === null ? one.error ?? one.absence ?? "nothing" : `for ${one.served}`}`,
  ])));
}

function bodies(detail) {
  if (detail.bodies.every((body) => body === null)) return null;
  return section("Bodies", detail.variants.map((one, i) => h("details", { "data-key": `body ${i}` },
    h("summary", {}, `For ${one.constraints}, ${came(one)}`), h("pre", { tabindex: "0" }, JSON.stringify(detail.bodies[i], null, 2)))));
}
