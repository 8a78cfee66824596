const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

/** How long a new key may be good for; null for ever. */
export const EXPIRIES = [
  { title: "7 days", seconds: 7 * DAY_S },
  { title: "30 days", seconds: 30 * DAY_S },
  { title: "90 days", seconds: 90 * DAY_S },
  { title: "1 year", seconds: 365 * DAY_S },
  { title: "never", seconds: null },
] as const;

/** How long a rotated key's former secret may stay good. */
export const OVERLAPS = [
  { title: "not at all: it ends at once", seconds: 0 },
  { title: "1 hour", seconds: HOUR_S },
  { title: "1 day", seconds: DAY_S },
  { title: "7 days", seconds: 7 * DAY_S },
] as const;
