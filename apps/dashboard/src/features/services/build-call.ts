import { parseExact } from "@appdb/contract/clients/exact-json";
import { CALL_FILE_BYTES } from "@appdb/contract/routes/control-paths";
import type { ServiceCall } from "@appdb/contract/routes/control-services";
import type { RouteField, RouteForm } from "./route-form.ts";

/** A request without its key. */
export interface BuiltCall extends Pick<ServiceCall, "method" | "path"> {
  readonly headers: Record<string, string>;
  /** JSON. */
  readonly body: string | null;
  /** In place of a body: the parts of a form with files. */
  readonly form: readonly FormPart[] | null;
}

export interface FormPart {
  readonly name: string;
  readonly value: string | File;
}
type FilePart = FormPart & { readonly value: File };

export interface Filled {
  /** The raw text of a field, or empty. */
  readonly valueOf: (field: RouteField) => string;
  /** The chosen file of a field. */
  readonly fileOf: (field: RouteField) => File | undefined;
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
const TOO_LARGE = `This page sends at most ${CALL_FILE_BYTES / 1_000_000} MB of files. Use the command below for larger ones.`;
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
  const parts: FormPart[] = [];
  const isForm = form.takes_files && filled.body === undefined;
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
    } else if (isForm) {
      const value = field.kind === "file" ? filled.fileOf(field) : formText(field, text);
      if (value !== undefined) parts.push({ name: field.name, value });
      else if (field.kind === "file" && field.is_required) problems.set(key, "Choose a file.");
    } else {
      const printed = printMember(field, text);
      if (field.kind === "json" && text !== "" && !isJson(text)) problems.set(key, NO_JSON);
      if (printed !== undefined) members.push(`  ${JSON.stringify(field.name)}: ${printed}`);
    }
  }
  const files = parts.filter((part): part is FilePart => typeof part.value !== "string");
  if (files.reduce((sum, { value }) => sum + value.size, 0) > CALL_FILE_BYTES) {
    for (const { name } of files) problems.set(fieldKey({ name, place: "body" }), TOO_LARGE);
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
      body: isForm || body === null || body.trim() === "" ? null : body,
      form: isForm ? parts : null,
    },
  };
}

/** The value as a field of a form. Undefined if it is omitted. */
function formText({ is_nullable: isNullable, is_required: isRequired, kind }: RouteField, text: string) {
  if (text !== "") return text;
  return isRequired && (isNullable || kind === "text") ? "" : undefined;
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
