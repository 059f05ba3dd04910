// How long the newest changes took, from their arrival at Weir to the answer of the last client that they concern.

import { ask } from "./api.js";

/** As many as Weir remembers. */
const REMEMBERED = 256;

/** How changes end; the best first. */
export const OUTCOMES = ["accepted", "late", "rejected"];

export class Latency {
  /** The newest first: `{number, at, seconds, outcome, streams, type, type_url}`. */
  changes = [];

  /** Reads them again if there are newer ones than those; `newest` are some of the newest. */
  async refresh(newest) {
    const [last] = newest;
    const [known] = this.changes;
    if (last === undefined) this.changes = [];
    else if (last.number !== known?.number || last.at !== known?.at) {
      this.changes = (await ask("propagation", { limit: REMEMBERED })).items;
    }
  }

  /** What a share of them took at most, in seconds; NaN if there are none. */
  quantile(share) {
    const took = this.changes.map((change) => change.seconds).sort((a, b) => a - b);
    return took[Math.max(0, Math.ceil(share * took.length) - 1)] ?? NaN;
  }

  /** How many of them ended so. */
  ended(outcome) {
    return this.changes.filter((change) => change.outcome === outcome).length;
  }
}
