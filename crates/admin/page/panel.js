// The panel beside the tree: which one it is stands in the address, so that it can be linked to and gone back to.

import { Refused, Unreachable } from "./api.js";
import { h, update } from "./dom.js";
import { client } from "./panels/client.js";
import { clients, type, upstreams, view } from "./panels/lists.js";
import { overview } from "./panels/overview.js";
import { rejections } from "./panels/rejections.js";
import { resource } from "./panels/resource.js";
import { STATES } from "./parts.js";

/** The panel that an address asks for. */
function opened(hash, context) {
  const [route, query] = hash.replace(/^#\/?/, "").split("?");
  const [what, ...rest] = route.split("/").map(decoded);
  switch (what) {
    case "upstreams": return upstreams();
    case "upstream": return upstreams(rest[0]);
    case "type": return type(rest[0], context.fleet);
    case "view": return view(rest[0], rest[1], context.fleet);
    case "client": return client(rest[0]);
    case "clients": return clients(STATES.includes(rest[0]) ? rest[0] : STATES[0]);
    case "resource": return resource(rest[0], rest[1], new URLSearchParams(query));
    case "rejections": return rejections();
    default: return overview(context);
  }
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export class Panel {
  #element;
  #heading;
  #body;
  #context;
  #shown;
  #drawing = null;

  /** `context` is what panels look at: the fleet, the latencies, and how wide a chart may be. */
  constructor(element, context) {
    this.#element = element;
    this.#heading = element.querySelector("h2");
    this.#body = element.querySelector(".body");
    this.#context = context;
    this.#shown = opened(location.hash, context);
    element.addEventListener("click", (event) => this.#click(event));
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#shown.submit?.(new FormData(event.target));
    });
  }

  /** Shows what the address asks for. */
  async go() {
    this.#shown = opened(location.hash, this.#context);
    this.#body.replaceChildren(h("p", { class: "calm" }, "…"));
    this.#element.scrollTop = 0;
    await this.refresh();
  }

  /** Reads what is shown once more. */
  async refresh() {
    // One at a time: what is asked for meanwhile is drawn after that.
    await this.#drawing;
    this.#drawing = this.#draw(this.#shown);
    await this.#drawing;
  }

  focus() {
    this.#heading.focus({ preventScroll: false });
  }

  async #draw(panel) {
    let nodes;
    try {
      nodes = await panel.draw();
    } catch (error) {
      if (error instanceof Unreachable) return;
      if (!(error instanceof Refused)) throw error;
      nodes = [h("p", { class: "notice" }, error.status === 404 ? `It is not there (any more): ${error.message}.` : error.message)];
    }
    if (panel !== this.#shown) return;
    this.#heading.textContent = panel.title;
    document.title = location.hash.length > 2 ? `${panel.title} · Weir` : "Weir";
    update(this.#body, nodes);
  }

  async #click(event) {
    const button = event.target.closest("[data-act]");
    if (!button || button.getAttribute("aria-disabled") === "true") return;
    await this.#shown.act?.(...button.dataset.act.split(" "));
    await this.refresh();
  }
}
