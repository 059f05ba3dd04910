// The stream of events: how Weir is, pushed by it. EventSource cannot send a token, so the stream is read by fetch.

import { request } from "./api.js";

/** After so much silence the stream is taken for dead, in milliseconds. Weir sends something every 15 seconds. */
const SILENCE = 40_000;
/** How long to wait before connecting again: first, and at most, in milliseconds. */
const [FIRST, LONGEST] = [500, 10_000];

/** The events in chunks of text: what stands behind `data:` in each. */
class Parser {
  #rest = "";
  #data = [];

  push(chunk) {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop();
    const events = [];
    for (const line of lines.map((line) => line.replace(/\r$/, ""))) {
      if (line.startsWith("data:")) {
        this.#data.push(line.slice(5).replace(/^ /, ""));
      } else if (line === "" && this.#data.length > 0) {
        events.push(this.#data.join("\n"));
        this.#data = [];
      }
    }
    return events;
  }
}

/**
 * Reads the stream until the page is left, and connects again whenever it breaks. `show(summary)` is called for each
 * event, `received()` for everything that comes, `lost(reason)` whenever there is no stream.
 */
export class Live {
  #to;
  #hurry = () => {};

  constructor(to) {
    this.#to = to;
  }

  async run() {
    let pause = FIRST;
    for (;;) {
      const reason = await this.#read(() => { pause = FIRST; });
      this.#to.lost(reason);
      await new Promise((resolve) => {
        this.#hurry = resolve;
        setTimeout(resolve, pause);
      });
      pause = Math.min(2 * pause, LONGEST);
    }
  }

  /** Connects now, if it waits to. */
  hurry() {
    this.#hurry();
  }

  /** A mistake of ours must not look like an end of the stream. */
  #show(summary) {
    try {
      this.#to.show(summary);
    } catch (error) {
      reportError(error);
    }
  }

  /** Returns why the stream ended. */
  async #read(alive) {
    const abort = new AbortController();
    let watchdog;
    const restart = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), SILENCE);
    };
    try {
      restart();
      const response = await request("events", { signal: abort.signal });
      if (!response.ok) return `Weir answers ${response.status} ${response.statusText}`;
      const parser = new Parser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return "Weir ended the stream of events";
        restart();
        alive();
        for (const event of parser.push(value)) this.#show(JSON.parse(event));
        this.#to.received();
      }
    } catch (error) {
      return error.name === "AbortError" ? "Weir has stopped sending" : "Weir does not answer";
    } finally {
      clearTimeout(watchdog);
      abort.abort();
    }
  }
}
