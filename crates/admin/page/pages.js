// A list that is looked at a page at a time, as the admin interface gives it: there is never more of it in the document.

import { count } from "./format.js";
import { h } from "./dom.js";

export class Pages {
  #load;
  #limit;
  /** The cursors behind which the pages start that were gone through: the last is that of the page that is shown. */
  #starts = [null];
  #next = null;
  #offset = 0;
  items = [];
  /** The name of the page that follows, where there is one. */
  turnsTo;

  /**
   * `load(after, limit)` gives `{items, next}`; `next` is what it takes as `after` for the page that follows. Where pages
   * before are none of this list, `offset` is how many items these had, below 0; `turn` is how the page that follows is called.
   */
  constructor(load, limit) {
    this.#load = load;
    this.#limit = limit;
  }

  /** Reads the page that is shown once more. */
  async refresh() {
    const start = this.#starts.at(-1);
    const page = await this.#load(start, this.#limit);
    // Somebody may have turned the page meanwhile.
    if (start !== this.#starts.at(-1)) return;
    if (page.items.length === 0 && this.#starts.length > 1) {
      // What was on this page is gone, and there is something before it.
      this.#starts.pop();
      await this.refresh();
      return;
    }
    this.items = page.items;
    this.#next = page.next;
    this.turnsTo = page.turn;
    this.#offset = page.offset ?? 0;
  }

  get hasPrevious() {
    return this.#starts.length > 1;
  }

  get hasNext() {
    return this.#next !== null;
  }

  async turn(direction) {
    if (direction === "next" && this.hasNext) this.#starts.push(this.#next);
    if (direction === "previous" && this.hasPrevious) this.#starts.pop();
    await this.refresh();
  }

  /** The place of the first item in the list, from 1. */
  get first() {
    return (this.#starts.length - 1) * this.#limit + this.#offset + 1;
  }

  /** "51–100" */
  get range() {
    return `${count(this.first)}–${count(this.first + this.items.length - 1)}`;
  }

  get limit() {
    return this.#limit;
  }
}

/** Buttons to go through the pages of a list; nothing if there is but one. `act` is what they ask the panel for. */
export function pager(pages, act) {
  if (!pages.hasPrevious && !pages.hasNext) return null;
  return h("nav", { class: "pager", "aria-label": "Pages" },
    h("button", { type: "button", "data-act": `${act} previous`, "aria-disabled": String(!pages.hasPrevious) }, "Previous"),
    h("span", {}, pages.range),
    h("button", { type: "button", "data-act": `${act} next`, "aria-disabled": String(!pages.hasNext) }, "Next"));
}
