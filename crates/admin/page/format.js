// Numbers, times and names of types, as people read them.

const grouped = new Intl.NumberFormat("en-GB", { useGrouping: true });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** 10000 as 10 000. */
export function count(number) {
  return grouped.format(number).replaceAll(",", "\u202f");
}

/** "1 client", "2 clients". */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Seconds, to two or three figures. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

/** The time of day; before today, with the date. */
export function time(at) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}

/** How long ago something was, in the largest unit. */
export function ago(at) {
  const seconds = Math.max(0, (Date.now() - new Date(at)) / 1000);
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

/** 318 as "318 B". */
export function bytes(number) {
  if (number < 1024) return `${number} B`;
  if (number < 1024 ** 2) return `${(number / 1024).toPrecision(3)} KiB`;
  return `${(number / 1024 ** 2).toPrecision(3)} MiB`;
}

const TYPES = {
  lds: "listeners", cds: "clusters", eds: "endpoints", rds: "routes", srds: "scoped routes", vhds: "virtual hosts",
  sds: "secrets", rtds: "runtime", ecds: "extensions", leds: "endpoints of localities",
};

/** A type in words: "clusters". Of a type that Weir does not know, the name of its message. */
export function typeName(short, typeUrl) {
  return TYPES[short] ?? typeUrl.split("/").at(-1);
}

/** A type as it stands in paths: its short name, or the name of its message. */
export function typePath(short, typeUrl) {
  return short === "other" ? typeUrl.split("/").at(-1) : short;
}

/** {env: "prod"} as "env=prod". */
export function pairs(parameters) {
  return Object.entries(parameters).map(([key, value]) => `${key}=${value}`);
}

const WORDS = { "in-sync": "in sync", behind: "behind", rejecting: "rejecting", syncing: "syncing", disconnected: "disconnected" };

/** A state in words. */
export function words(state) {
  return WORDS[state] ?? state;
}
