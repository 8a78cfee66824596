import { isUtf8 } from "node:buffer";
import { appError } from "@appdb/contract/errors";
import { findOverflow } from "./bound-members.ts";
import { scanMembers } from "./scan-members.ts";

/** A body that is a JSON object. If a name occurs twice, the last one counts, as in common JSON parsers. */
export interface ParsedBody {
  readonly members: Readonly<Record<string, unknown>>;
  /** Source text of a member's value: digits, key order and spacing as sent. */
  raw(name: string): string;
  /** The body is a form: members are texts as in a URL, null, or StoredMedia. */
  readonly is_form?: boolean;
}

/** The kind of text, for error messages: a request body, or one row of it. */
export type JsonSource = "body" | "row";

/** @throws invalid_json when it is not JSON in UTF-8; invalid_request when it is not an object */
export function parseBody(bytes: Uint8Array | string, what: JsonSource = "body"): ParsedBody {
  const text = typeof bytes === "string" ? bytes : decode(bytes, what);
  const overflow = findOverflow(text);
  if (overflow !== undefined) {
    throw appError("invalid_request", {
      detail: `The ${what} has ${overflow}, the maximum.`,
      hint: "Send smaller objects. A list may have any number of values.",
    });
  }
  const value = parseJson(text, what);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw appError("invalid_request", {
      detail: `Expected the ${what} to be a JSON object, got ${nameOf(value)}.`,
      hint: 'Send one row as an object: {"column": value}',
      errors: [{ pointer: "", detail: `Expected an object, got ${nameOf(value)}.` }],
    });
  }
  let slices: ReadonlyMap<string, string> | undefined;
  return {
    members: value as Record<string, unknown>,
    raw(name) {
      slices ??= scanMembers(text);
      return slices.get(name) ?? "null";
    },
  };
}

/** A form that was announced as JSON begins with its boundary. */
const FORM_START = /^--[^\r\n]{1,70}\r\nContent-Disposition: form-data/i;

function refuseForm(text: string, what: JsonSource): void {
  if (!FORM_START.test(text)) return;
  throw appError("invalid_json", {
    detail: `The ${what} is a form, and its header content-type says JSON.`,
    hint: "Leave the header content-type out: curl and browsers set it for forms, with the boundary.",
  });
}

function decode(bytes: Uint8Array, what: JsonSource): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  // Invalid UTF-8 always decodes to U+FFFD, so only a text with U+FFFD needs the second check.
  if (text.includes("\uFFFD") && !isUtf8(bytes)) {
    refuseForm(text, what);
    throw appError("invalid_json", { detail: `The ${what} is not UTF-8.`, hint: "Encode the JSON text as UTF-8." });
  }
  return text;
}

function parseJson(text: string, what: JsonSource): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === "") {
      throw appError("invalid_json", { detail: `The ${what} is empty.`, hint: `Send a JSON object as the ${what}.` });
    }
    refuseForm(text, what);
    throw appError("invalid_json", {
      detail: `The ${what} is not JSON: ${error instanceof Error ? error.message : String(error)}.`,
      hint: /\b(NaN|-?Infinity)\b/.test(text)
        ? "JSON does not support NaN and Infinity. Send null, or omit the field."
        : `Send a JSON object as the ${what}.`,
      cause: error,
    });
  }
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return `a ${typeof value}`;
}
