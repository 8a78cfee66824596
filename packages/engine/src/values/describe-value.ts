import { ValueError } from "./value-error.ts";

/** Says what was wanted in place of a value of a body. */
export function wanted(what: string, value: unknown, pointer = ""): ValueError {
  return new ValueError(`Expected ${what}, got ${describe(value)}.`, pointer);
}

/** Names a JSON value for a message: scalars as written, the others by what they are. */
export function describe(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return shorten(JSON.stringify(value));
}

export function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
