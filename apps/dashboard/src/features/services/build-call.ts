import type { ServiceCall } from "@appdb/contract/routes/control-services";
import { parseExact } from "../tables/exact-json.ts";
import type { RouteField, RouteForm } from "./route-form.ts";

/** A request without its key. */
export interface BuiltCall extends Pick<ServiceCall, "method" | "path"> {
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

export interface Filled {
  /** The raw text of a field, or empty. */
  readonly valueOf: (field: RouteField) => string;
  /** The whole body, if it was written as JSON. */
  readonly body: string | undefined;
}

export interface Built {
  readonly call: BuiltCall;
  /** Problems found before sending, by `fieldKey`; `body` for the whole body. */
  readonly problems: ReadonlyMap<string, string>;
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const NO_JSON = "This is not valid JSON yet.";

export function fieldKey({ name, place }: Pick<RouteField, "name" | "place">): string {
  return `${place} ${name}`;
}

/**
 * Builds the request from the form. Omits empty optional values. Numbers keep all digits. An invalid number is sent as
 * text, so that the service explains the problem.
 */
export function buildCall(form: RouteForm, filled: Filled): Built {
  const problems = new Map<string, string>();
  const query: string[] = [];
  const headers: Record<string, string> = {};
  const members: string[] = [];
  let path = form.path;
  for (const field of form.fields) {
    const text = filled.valueOf(field);
    const key = fieldKey(field);
    if (field.place === "path") {
      if (text === "") problems.set(key, "The path requires it.");
      path = path.replace(new RegExp(`\\{${field.name}[^}]*\\}`), () => encodeURIComponent(text));
    } else if (field.place === "query") {
      if (text !== "") query.push(`${encodeURIComponent(field.name)}=${encodeURIComponent(text)}`);
    } else if (field.place === "header") {
      if (text !== "") headers[field.name.toLowerCase()] = text;
    } else {
      const printed = printMember(field, text);
      if (field.kind === "json" && text !== "" && !isJson(text)) problems.set(key, NO_JSON);
      if (printed !== undefined) members.push(`  ${JSON.stringify(field.name)}: ${printed}`);
    }
  }
  const literal = members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
  const hasFields = form.fields.some(({ place }) => place === "body");
  const body = !form.has_body ? null : (filled.body ?? (hasFields ? literal : ""));
  if (filled.body !== undefined && filled.body.trim() !== "" && !isJson(filled.body)) problems.set("body", NO_JSON);
  return {
    problems,
    call: {
      method: METHODS.find((method) => method === form.method) ?? "POST",
      path: query.length === 0 ? path : `${path}?${query.join("&")}`,
      headers,
      body: body === null || body.trim() === "" ? null : body,
    },
  };
}

/** The value as JSON. Undefined if it is omitted. */
function printMember(
  { is_nullable: isNullable, is_required: isRequired, kind }: RouteField,
  text: string,
): string | undefined {
  if (text === "") {
    if (!isRequired) return undefined;
    if (isNullable) return "null";
    return kind === "text" ? '""' : undefined;
  }
  if (kind === "json" || kind === "boolean") return text.trim();
  if (kind === "number") return NUMBER.test(text.trim()) ? text.trim() : JSON.stringify(text);
  return JSON.stringify(text);
}

function isJson(text: string): boolean {
  try {
    parseExact(text);
    return true;
  } catch {
    return false;
  }
}
