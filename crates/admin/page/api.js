// Questions to the admin interface of this Weir.

import { askForToken, bearer } from "./token.js";

/** Weir answered, and did not give what was asked for. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** No answer came: Weir, or what is between, is away. */
export class Unreachable extends Error {}

/** Fetches a path of the admin interface, and asks the user for a token where it takes one. */
export async function request(path, options = {}) {
  for (;;) {
    const token = bearer();
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    let response;
    try {
      response = await fetch(path, { ...options, headers, cache: "no-store", redirect: "error" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Unreachable("Weir does not answer");
    }
    if (response.status !== 401 && response.status !== 403) return response;
    await askForToken((await response.text()).trim(), token);
  }
}

/** The answer of a path, as JSON. */
export async function ask(path, query = {}, options = {}) {
  const parameters = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const pairs = parameters.flatMap(([key, value]) => [value].flat().map((one) => [key, String(one)]));
  const search = pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
  const response = await request(path + search, options);
  const text = await body(response);
  if (response.ok) return JSON.parse(text);
  throw new Refused(response.status, detail(text) ?? `${response.status} ${response.statusText}`);
}

async function body(response) {
  try {
    return await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("Weir went away in the middle of an answer");
  }
}

function detail(text) {
  try {
    return JSON.parse(text).detail;
  } catch {
    return null;
  }
}

/** A path of which the parts may hold anything. */
export function path(...parts) {
  return parts.map(encodeURIComponent).join("/");
}
