import { parseExact, printExact } from "@appdb/contract/clients/exact-json";
import { type FieldError, type Problem, parseProblem } from "@appdb/contract/errors";
import type { ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import { decodeName, filesInAnswer, kindOfType, type ShownFile } from "../files/shown-file.ts";

/** The body for people: indented JSON with all digits, anything else unchanged. */
export function printBody({
  body,
  headers,
  is_cut: isCut,
}: Pick<ServiceCallAnswer, "body" | "headers" | "is_cut">): string {
  const type = headers.find(({ name }) => name === "content-type")?.value ?? "";
  if (body === null || body === "" || isCut || !/[/+]json\b/.test(type)) return body ?? "";
  try {
    return printExact(parseExact(body), 2);
  } catch {
    return body;
  }
}

/** The files that a body of JSON names. */
export function filesOf(body: string, endpoint: string): readonly ShownFile[] {
  try {
    return filesInAnswer(parseExact(body), endpoint);
  } catch {
    return [];
  }
}

/** What the headers of an answer say of its file. */
export function describeFile({ bytes, headers }: Pick<ServiceCallAnswer, "bytes" | "headers">) {
  const header = (name: string) => headers.find((one) => one.name === name)?.value ?? "";
  const [type = ""] = header("content-type").split(";");
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(header("content-disposition")) ?? [];
  const [, plain] = /filename="([^"]*)"/.exec(header("content-disposition")) ?? [];
  const name = (encoded === undefined ? undefined : decodeName(encoded)) ?? plain ?? "file";
  return { kind: kindOfType(type), type, bytes, name };
}

/** A service's reasons for refusing a request. */
export interface Refusal {
  readonly detail: string;
  readonly hint: string | undefined;
  readonly errors: readonly FieldError[];
}

/** Reads a service's refusal. Undefined if the answer is not a problem document. Applications may write their own. */
export function readRefusal({ body, status }: Pick<ServiceCallAnswer, "body" | "status">): Refusal | undefined {
  const problem = status < 400 || body === null ? undefined : parseProblem(body);
  if (problem === undefined) return undefined;
  const { detail, errors, hint } = problem as { readonly [key in keyof Problem]: unknown };
  return {
    detail: String(detail),
    hint: typeof hint === "string" ? hint : undefined,
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
  };
}

function isFieldError(error: unknown): error is FieldError {
  if (typeof error !== "object" || error === null) return false;
  return (
    "pointer" in error && typeof error.pointer === "string" && "detail" in error && typeof error.detail === "string"
  );
}

/** The service's error for one value of the request. */
export function problemOf(refusal: Refusal | undefined, name: string): string | undefined {
  const issues = refusal?.errors.filter(({ pointer }) => fieldOf(pointer) === name) ?? [];
  return issues.length === 0 ? undefined : issues.map(({ detail }) => detail).join(" ");
}

/** The field of a pointer: `/meta/0` is in `meta`, `/0/title` of a row in a list is in `title`. */
export function fieldOf(pointer: string): string {
  const parts = pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return (/^\d+$/.test(parts[0] ?? "") ? parts[1] : parts[0]) ?? "";
}
