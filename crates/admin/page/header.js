// The line at the top: how it is going in all, and whether what is shown is how it is now.

import { count, counted, duration, time, words } from "./format.js";
import { glyph, h, update } from "./dom.js";
import { bar, number, STATES, total } from "./parts.js";

/** Brings the numbers up to date. */
export function numbers(element, summary, latency) {
  update(element,
    item("Clients", h("a", { class: "big", href: "#/" }, count(total(summary.streams))), total(summary.streams) > 0 ? bar(summary.streams) : null),
    [...STATES].reverse().map((name) => item(words(name), h("a", { class: `big state ${number(summary.streams, name) > 0 ? name : "none"}`, href: `#/clients/${name}` },
      glyph(number(summary.streams, name) > 0 ? name : "none"), count(number(summary.streams, name))))),
    item("Control planes", planes(summary.upstreams)),
    item("Change to last answer", latency.changes.length === 0 ? h("span", { class: "big none" }, "–")
      : h("a", { class: "big", href: "#/" }, duration(latency.quantile(0.5)), h("span", { class: "more" }, `99 % within ${duration(latency.quantile(0.99))}`))));
}

function item(name, ...values) {
  return h("div", { class: "item", "data-key": name }, h("span", { class: "name" }, name), values);
}

function planes({ in_sync: inSync, syncing, disconnected }) {
  const streams = inSync + syncing + disconnected;
  const [name, text] = streams === 0 ? ["none", "none"]
    : disconnected > 0 ? ["disconnected", `${count(disconnected)} of ${count(streams)} away`]
      : syncing > 0 ? ["syncing", `${count(syncing)} of ${count(streams)} syncing`]
        : ["in-sync", `${counted(streams, "stream")} in sync`];
  return h("a", { class: `big state ${name}`, href: "#/upstreams" }, glyph(name), text);
}

/** Whether the stream of events is alive. Only changes are announced, not every event. */
export class Connection {
  #element;
  #banner;
  #last = null;
  #state = null;

  constructor(element, banner, hurry) {
    this.#element = element;
    this.#banner = banner;
    banner.querySelector("button").addEventListener("click", hurry);
  }

  alive({ ready, draining }) {
    const name = ready && !draining ? "in-sync" : "behind";
    this.#state = h("span", { class: `state ${name}` }, glyph(name), draining ? "Draining" : ready ? "Ready" : "Not ready");
    this.received();
  }

  /** Something came, if only that nothing has changed. */
  received() {
    if (this.#state === null) return;
    this.#last = Date.now();
    update(this.#element, this.#state.cloneNode(true), h("span", { class: "more" }, "live · ", time(this.#last)));
    if (this.#banner.hidden) return;
    this.#banner.hidden = true;
    document.body.classList.remove("lost");
  }

  lost(reason) {
    const since = this.#last === null ? "Nothing is known yet." : `What is shown is how it was at ${time(this.#last)}.`;
    this.#banner.querySelector("span").textContent = `${reason}. ${since} Trying again.`;
    this.#banner.hidden = false;
    document.body.classList.add("lost");
    update(this.#element, h("span", { class: "state disconnected" }, glyph("disconnected"), "Connection lost"));
  }
}
