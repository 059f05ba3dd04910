// A tree with the keys of the ARIA authoring practices: one row at a time is in the tab order,
// arrows move, fold and unfold, letters find. It owns focus and keys; what the rows are is not its business.

import { h, update } from "./dom.js";

/** For how long letters are taken for parts of one word, in milliseconds. */
const WORD = 700;

export class Tree {
  #element;
  #rows = [];
  #current = null;
  #toggle;
  #open;
  #word = { text: "", at: 0 };

  /** `toggle(id)` folds or unfolds a row, `open(id)` is asked for when a row is chosen. */
  constructor(element, { toggle, open }) {
    this.#element = element;
    this.#toggle = toggle;
    this.#open = open;
    element.addEventListener("keydown", (event) => this.#keydown(event));
    element.addEventListener("click", (event) => this.#click(event));
    element.addEventListener("focusin", (event) => {
      const id = event.target.closest("[role=treeitem]")?.dataset.key;
      if (id) this.#make(id);
    });
  }

  /**
   * Shows these rows: `{id, level, label, content, state, expanded, selected, position, size, busy}`; `expanded` is null
   * where there is nothing to unfold.
   */
  show(rows) {
    const before = this.#rows.findIndex((row) => row.id === this.#current);
    this.#rows = rows;
    if (!rows.some((row) => row.id === this.#current)) {
      const hadFocus = this.#element.contains(document.activeElement);
      this.#current = rows[Math.min(Math.max(before, 0), rows.length - 1)]?.id ?? null;
      update(this.#element, rows.map((row) => this.#row(row)));
      if (hadFocus) this.focus();
      return;
    }
    update(this.#element, rows.map((row) => this.#row(row)));
  }

  /** Moves the focus into the tree. */
  focus() {
    this.#at(this.#current)?.focus();
  }

  #row(row) {
    const attributes = {
      role: "treeitem",
      class: `row ${row.kind}`,
      "data-key": row.id,
      "data-state": row.state,
      "aria-level": row.level,
      "aria-expanded": row.expanded === null ? null : String(row.expanded),
      "aria-selected": String(row.selected),
      "aria-setsize": row.size,
      "aria-posinset": row.position,
      "aria-busy": row.busy ? "true" : null,
      tabindex: row.id === this.#current ? "0" : "-1",
    };
    return h("li", attributes, h("span", { class: "twisty", "aria-hidden": "true" }), row.content);
  }

  #at(id) {
    return [...this.#element.children].find((child) => child.dataset.key === id);
  }

  #make(id) {
    if (id === this.#current) return;
    this.#at(this.#current)?.setAttribute("tabindex", "-1");
    this.#current = id;
    this.#at(id)?.setAttribute("tabindex", "0");
  }

  #move(index) {
    const row = this.#rows[Math.min(Math.max(index, 0), this.#rows.length - 1)];
    if (row) this.#at(row.id)?.focus();
  }

  #click(event) {
    const id = event.target.closest("[role=treeitem]")?.dataset.key;
    if (!id) return;
    this.#at(id).focus();
    const row = this.#at(id);
    // A finger need not hit the small sign: what is left of the text is for folding.
    const left = event.target === row && event.clientX < row.querySelector(".label").getBoundingClientRect().left;
    if ((left || event.target.closest(".twisty")) && row.hasAttribute("aria-expanded")) this.#toggle(id);
    else this.#open(id);
  }

  #keydown(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const index = this.#rows.findIndex((row) => row.id === this.#current);
    const row = this.#rows[index];
    if (!row) return;
    if (this.#command(event.key, row, index)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Returns whether the key means something here. */
  #command(key, row, index) {
    switch (key) {
      case "ArrowDown": this.#move(index + 1); return true;
      case "ArrowUp": this.#move(index - 1); return true;
      case "Home": this.#move(0); return true;
      case "End": this.#move(this.#rows.length - 1); return true;
      case "PageDown": this.#move(index + 10); return true;
      case "PageUp": this.#move(index - 10); return true;
      case "Enter":
      case " ": this.#open(row.id); return true;
      case "ArrowRight":
        if (row.expanded === false) this.#toggle(row.id);
        else if (row.expanded && this.#rows[index + 1]?.level > row.level) this.#move(index + 1);
        return true;
      case "ArrowLeft":
        if (row.expanded) this.#toggle(row.id);
        else if (row.level > 1) this.#move(this.#rows.findLastIndex((other, at) => at < index && other.level < row.level));
        return true;
      default: return /^[\p{L}\p{N}]$/u.test(key) && this.#find(key, index);
    }
  }

  /** Goes to the next row whose text begins with what was typed. */
  #find(letter, index) {
    const now = Date.now();
    const text = (now - this.#word.at < WORD ? this.#word.text : "") + letter.toLowerCase();
    this.#word = { text, at: now };
    const from = text.length === 1 ? index + 1 : index;
    const inOrder = [...this.#rows.slice(from), ...this.#rows.slice(0, from)];
    const found = inOrder.find((row) => row.label.toLowerCase().startsWith(text));
    if (found) this.#at(found.id)?.focus();
    return true;
  }
}
