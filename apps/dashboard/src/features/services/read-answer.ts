import { type FieldError, type Problem, parseProblem } from "@appdb/contract/errors";
import type { ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import { parseExact, printExact } from "../tables/exact-json.ts";

/** The body for a person: JSON indented, with every digit; anything else as it came. */
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

/** What a service says of a request that it refused. */
export interface Refusal {
  readonly detail: string;
  readonly hint: string | undefined;
  readonly errors: readonly FieldError[];
}

/** Why the service refused the request; undefined for an answer that is no problem document. An application may write one as it likes. */
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

/** What is wrong with one value of the request, in the words of the service. */
export function problemOf(refusal: Refusal | undefined, name: string): string | undefined {
  const told = refusal?.errors.filter(({ pointer }) => fieldOf(pointer) === name) ?? [];
  return told.length === 0 ? undefined : told.map(({ detail }) => detail).join(" ");
}

/** Which value a pointer leads into: `/meta/0` is of `meta`, `/0/title` of a row in a list is of `title`. */
export function fieldOf(pointer: string): string {
  const parts = pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return (/^\d+$/.test(parts[0] ?? "") ? parts[1] : parts[0]) ?? "";
}
