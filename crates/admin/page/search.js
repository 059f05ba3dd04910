// The search for a client or a resource by the beginning of its name: a combobox with a list of what was found.

import { ask, path } from "./api.js";
import { typeName, typePath } from "./format.js";
import { h, update } from "./dom.js";
import { sign } from "./parts.js";

/** For how long nothing is typed before it is searched, in milliseconds. */
const PAUSE = 150;
/** How many of each are offered. */
const OFFERED = 7;

export class Search {
  #field;
  #list;
  #status;
  #open;
  #found = [];
  #active = -1;
  #timer;
  #asked = 0;
  /** Where the focus was before, to be given back. */
  #before = null;

  /** `open(hash)` is called for what was chosen. */
  constructor(field, list, status, open) {
    this.#field = field;
    this.#list = list;
    this.#status = status;
    this.#open = open;
    field.addEventListener("input", () => this.#typed());
    field.addEventListener("keydown", (event) => this.#keydown(event));
    field.addEventListener("blur", () => this.#close());
    // The focus stays in the field.
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(Number(option.dataset.index));
    });
  }

  focus() {
    if (document.activeElement !== this.#field) this.#before = document.activeElement;
    this.#field.focus();
    this.#field.select();
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), PAUSE);
  }

  async #search() {
    const prefix = this.#field.value.trim();
    this.#asked += 1;
    const asked = this.#asked;
    if (prefix === "") return this.#close();
    let found;
    try {
      const [clients, resources] = await Promise.all([
        ask("clients", { node: prefix, limit: OFFERED }), ask("resources", { prefix, limit: OFFERED }),
      ]);
      found = [...clients.items.map(client), ...resources.items.map(resource)];
    } catch (error) {
      found = [];
      this.#status.textContent = `The search failed: ${error.message}`;
      if (asked === this.#asked) this.#close();
      return;
    }
    // An answer that comes late is not that to what is asked now.
    if (asked !== this.#asked || document.activeElement !== this.#field) return;
    this.#found = found;
    this.#active = found.length > 0 ? 0 : -1;
    this.#show(prefix);
  }

  #show(prefix) {
    const options = this.#found.map((one, index) => h("li", {
      role: "option", id: `found-${index}`, "data-index": index, "aria-selected": String(index === this.#active), class: one.kind,
    }, one.content));
    const none = this.#found.length === 0
      ? h("li", { role: "option", "aria-disabled": "true", class: "none" }, `No client and no resource begins with “${prefix}”.`) : null;
    update(this.#list, options, none);
    this.#list.hidden = false;
    this.#field.setAttribute("aria-expanded", "true");
    this.#point();
    this.#status.textContent = this.#found.length === 0 ? "Nothing was found" : `${this.#found.length} found`;
  }

  #point() {
    for (const option of this.#list.children) {
      option.setAttribute("aria-selected", String(Number(option.dataset.index) === this.#active));
    }
    if (this.#active < 0) this.#field.removeAttribute("aria-activedescendant");
    else {
      this.#field.setAttribute("aria-activedescendant", `found-${this.#active}`);
      document.getElementById(`found-${this.#active}`).scrollIntoView({ block: "nearest" });
    }
  }

  #close() {
    this.#list.hidden = true;
    this.#found = [];
    this.#active = -1;
    this.#field.setAttribute("aria-expanded", "false");
    this.#field.removeAttribute("aria-activedescendant");
  }

  #choose(index) {
    const one = this.#found[index];
    if (!one) return;
    this.#field.value = "";
    this.#asked += 1;
    this.#close();
    this.#open(one.hash);
  }

  #keydown(event) {
    const last = this.#found.length - 1;
    const moves = { ArrowDown: Math.min(this.#active + 1, last), ArrowUp: Math.max(this.#active - 1, 0) };
    if (event.key in moves && last >= 0) {
      this.#active = moves[event.key];
      this.#point();
    } else if (event.key === "Enter") {
      this.#choose(this.#active);
    } else if (event.key === "Escape") {
      if (this.#list.hidden) this.#before?.focus();
      this.#close();
    } else {
      return;
    }
    event.preventDefault();
  }
}

function client(one) {
  const { node } = one;
  return {
    kind: "client",
    hash: `#/${path("client", one.id)}`,
    content: [sign(one.state), h("code", {}, node.id || one.peer),
      h("span", { class: "more" }, ["client", node.cluster].filter(Boolean).join(" · "))],
  };
}

function resource(one) {
  return {
    kind: "resource",
    hash: `#/${path("resource", typePath(one.type, one.type_url), one.name)}`,
    content: [h("span", { class: "kind", "aria-hidden": "true" }, one.type === "other" ? "…" : one.type), h("code", {}, one.name),
      h("span", { class: "more" }, typeName(one.type, one.type_url))],
  };
}
