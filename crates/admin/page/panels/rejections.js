// What clients rejected lately, the newest first.

import { ask, path } from "../api.js";
import { ago, time, typeName } from "../format.js";
import { glyph, h } from "../dom.js";
import { Pages, pager } from "../pages.js";
import { code, moment } from "../parts.js";

const PAGE = 25;

export function rejections() {
  const pages = new Pages((after, limit) => ask("nacks", { after, limit }), PAGE);
  return {
    title: "Rejections",
    async draw() {
      await pages.refresh();
      if (pages.items.length === 0) return [h("p", { class: "calm" }, "No client has rejected anything since this Weir started.")];
      return [
        h("p", { class: "calm" }, "The newest 256 are remembered, also of clients that have gone."),
        h("ul", { class: "list" }, pages.items.map(nackItem)), pager(pages, "turn"),
      ];
    },
    act: (_, direction) => pages.turn(direction),
  };
}

/** One rejection. */
export function nackItem(nack) {
  const who = code(nack.node || "without a name");
  return h("li", { "data-key": `nack ${nack.number}` },
    h("p", { class: "head" }, glyph("rejecting"), nack.client === null ? who : h("a", { href: `#/${path("client", nack.client)}` }, who),
      h("span", {}, " rejected "), h("strong", {}, typeName(nack.type, nack.type_url)),
      h("span", { class: "push" }, moment(nack.at, `${time(nack.at)} · ${ago(nack.at)}`))),
    h("pre", { class: "quote" }, nack.message || "It gave no reason."));
}
