// What the tree shows: control planes, Weir, the types with their views, and the clients of each view. It owns what is
// unfolded, and asks for what is seen and nothing else: a page of each list.

import { ask } from "./api.js";
import { count, typePath } from "./format.js";
import { Pages } from "./pages.js";
import { number, STATES } from "./parts.js";

/** How many rows of a list there are at once. */
const PAGE = 50;

/** The cursor of the beginning of a list that follows the worst of it. */
const ALL = Symbol("all");

export class Fleet {
  #unfolded = new Set(["weir"]);
  #lists = new Map();
  summary = null;

  isUnfolded(id) {
    return this.#unfolded.has(id);
  }

  /** The list under a row; none while it is folded or not read yet. */
  list(id) {
    return this.#unfolded.has(id) ? this.#lists.get(id) : undefined;
  }

  fold(id) {
    this.#unfolded.delete(id);
    this.#lists.delete(id);
  }

  unfold(id) {
    this.#unfolded.add(id);
  }

  /** A type as it stands in paths. */
  pathOf(typeUrl) {
    const type = this.summary?.types.find((one) => one.type_url === typeUrl);
    return typePath(type?.type ?? "other", typeUrl);
  }

  /** The URL of the type of a view that is shown. */
  typeOf(view) {
    const lists = this.summary.types.map((type) => this.list(typeId(type))).filter(Boolean);
    return lists.flatMap((list) => list.items).find((one) => one.id === view)?.type_url ?? "";
  }

  /** Goes to another page of the list under a row. */
  async turn(id, direction) {
    await this.#lists.get(id)?.turn(direction);
  }

  /** Reads everything that is unfolded once more. */
  async refresh() {
    if (!this.summary) return;
    const { upstreams, views: worst, types } = this.summary;
    if (this.#unfolded.has("planes")) {
      const all = upstreams.in_sync + upstreams.syncing + upstreams.disconnected;
      await this.#read("planes", worstFirst(upstreams.links, all, (after, limit) => ask("upstreams", { after, limit })));
    }
    if (!this.#unfolded.has("weir")) return;
    for (const type of types) {
      const id = typeId(type);
      if (!this.#unfolded.has(id)) continue;
      const ofType = worst.filter((view) => view.type_url === type.type_url);
      const load = (after, limit) => ask("views", { type: type.type_url, after, limit });
      const views = await this.#read(id, worstFirst(ofType, type.views, load));
      for (const view of views.items) {
        if (this.#unfolded.has(viewId(view))) await this.#read(viewId(view), clientsOf(view));
      }
    }
  }

  async #read(id, load) {
    const list = this.#lists.get(id) ?? new Pages((after, limit) => list.load(after, limit), PAGE);
    list.load = load;
    await list.refresh();
    // It may have been folded meanwhile.
    if (this.#unfolded.has(id)) this.#lists.set(id, list);
    return list;
  }
}

export function typeId(type) {
  return `type ${type.type_url}`;
}

export function viewId(view) {
  return `view ${view.id}`;
}

/**
 * A list that begins with those in the worst state, as far as the summary has them; where these are not all, what
 * follows are all, by age.
 */
function worstFirst(worst, all, load) {
  return async (after, limit) => {
    // The page before them is none of theirs.
    if (after !== null) return { ...await load(after === ALL ? null : after, limit), offset: -limit };
    const items = worst.slice(0, limit);
    return { items, next: items.length < all ? ALL : null, turn: `↓ All ${count(all)}, the oldest first` };
  };
}

/** The clients of a view, those first who are in the worst state. */
function clientsOf(view) {
  const present = STATES.filter((state) => number(view, state) > 0);
  return async (after, limit) => {
    let [at, cursor] = after ?? [0, null];
    const items = [];
    while (at < present.length && items.length < limit) {
      const query = { type: view.type_url, view: view.id, state: present[at], limit: limit - items.length, after: cursor };
      const page = await ask("clients", query);
      items.push(...page.items);
      cursor = page.next;
      if (cursor === null) at += 1;
    }
    return { items, next: at < present.length ? [at, cursor] : null };
  };
}
