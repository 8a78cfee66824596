import { ValueError } from "./value-error.ts";

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const MS_PER_MINUTE = 60_000;

/** Parses `YYYY-MM-DD`; years 1 to 9999, as in Python. */
export function parseDate(text: string): string | ValueError {
  const parts = DATE.exec(text);
  const ms = parts === null ? undefined : dayMs(parts[1], parts[2], parts[3]);
  return ms === undefined
    ? new ValueError(`Expected a date YYYY-MM-DD, got ${JSON.stringify(text.slice(0, 40))}.`)
    : text;
}

/**
 * Parses an ISO 8601 timestamp and returns it in UTC, with microseconds if any. Without a zone it is UTC, without a
 * time it is midnight; 24:00 is the next midnight. Digits beyond microseconds must be zero, because they would be lost.
 */
export function parseTimestamp(text: string): string | ValueError {
  const parts = TIMESTAMP.exec(text);
  if (parts === null) return notTimestamp(text);
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] = parts;
  const day0 = dayMs(year, month, day);
  const offset = offsetMinutes(zone);
  // The end of a day in ISO 8601: midnight of the next day.
  const isEnd = hour === "24" && !/[1-9]/.test(minute + second + fraction);
  if (second === "60" && day0 !== undefined) return leapSecond(text);
  const isTime = (Number(hour) < 24 || isEnd) && Number(minute) < 60 && Number(second) < 60;
  if (day0 === undefined || offset === undefined || !isTime) return notTimestamp(text);
  const digits = fraction.padEnd(9, "0");
  if (!digits.endsWith("000")) {
    return new ValueError(
      `A Timestamp keeps microseconds; ${JSON.stringify(text)} has more digits, which would be lost.`,
    );
  }
  const time = (Number(hour) * 60 + Number(minute) - offset) * MS_PER_MINUTE + Number(second) * 1000;
  const utc = new Date(day0 + time);
  const utcYear = utc.getUTCFullYear();
  if (utcYear < 1 || utcYear > 9999) {
    return new ValueError(`${JSON.stringify(text)} is in year ${utcYear} in UTC; years 1 to 9999 can be stored.`);
  }
  const micros = digits.slice(0, 6);
  return `${utc.toISOString().slice(0, 19)}${micros === "000000" ? "" : `.${micros}`}Z`;
}

function leapSecond(text: string): ValueError {
  return new ValueError(
    `${JSON.stringify(text)} is a leap second, which a Timestamp does not support; send second 59 or the next minute.`,
  );
}

/** Milliseconds since 1970 as a Timestamp in the engine's form. */
export function timestampOf(ms: number): string {
  const text = new Date(ms).toISOString();
  return text.endsWith(".000Z") ? `${text.slice(0, 19)}Z` : `${text.slice(0, -1)}000Z`;
}

function notTimestamp(text: string): ValueError {
  return new ValueError(`Expected an ISO 8601 timestamp, got ${JSON.stringify(text.slice(0, 40))}.`);
}

/** Milliseconds of a day's start in UTC; undefined for an invalid date. */
function dayMs(year = "", month = "", day = ""): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isReal = Number(year) >= 1 && date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  return isReal ? date.getTime() : undefined;
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(":", "") || "0");
  if (hours > 23 || minutes > 59) return undefined;
  return (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes);
}
