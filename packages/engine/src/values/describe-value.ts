import { ValueError } from "./value-error.ts";

/** The error for an unexpected value in a body. */
export function typeMismatch(what: string, value: unknown, pointer = ""): ValueError {
  return new ValueError(`Expected ${what}, got ${describe(value)}.`, pointer);
}

/** Describes a JSON value for a message: scalars as written, others by their type. */
export function describe(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return shorten(JSON.stringify(value));
}

export function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
