const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

/** Lifetimes of a new key, null for unlimited, with the option of `cli key create`. */
export const EXPIRIES = [
  { title: "7 days", seconds: 7 * DAY_S, flag: " --expires 7d" },
  { title: "30 days", seconds: 30 * DAY_S, flag: " --expires 30d" },
  { title: "90 days", seconds: 90 * DAY_S, flag: " --expires 90d" },
  { title: "1 year", seconds: 365 * DAY_S, flag: " --expires 365d" },
  { title: "never", seconds: null, flag: "" },
] as const;

/** How long a rotated key's previous secret stays valid, with the option of `cli key rotate`. */
export const OVERLAPS = [
  { title: "not at all: it ends at once", seconds: 0, flag: "" },
  { title: "1 hour", seconds: HOUR_S, flag: " --overlap 1h" },
  { title: "1 day", seconds: DAY_S, flag: " --overlap 1d" },
  { title: "7 days", seconds: 7 * DAY_S, flag: " --overlap 7d" },
] as const;
