import type { KeptAnswer } from "../idempotency/request-store.ts";
import { readPreferences } from "./prefer.ts";
import type { RouteRequest } from "./route.ts";

const MINIMAL = "return=minimal";

/** Whether a request asks for a response without a body: `Prefer: return=minimal`. */
export function wantsMinimal({ headers }: Pick<RouteRequest, "headers">): boolean {
  return headers.prefer !== undefined && readPreferences(headers).get("return")?.toLowerCase() === "minimal";
}

/** The same response without its body and the headers about the body. */
export function minimalAnswer(answer: Pick<KeptAnswer, "headers">): KeptAnswer {
  const { "content-type": _, ...headers } = answer.headers;
  return { status: 204, headers: { ...headers, "preference-applied": MINIMAL }, body: "" };
}

/** Its description in OpenAPI. */
export const PREFER_PARAMETER = {
  name: "Prefer",
  in: "header",
  required: false,
  description: "`return=minimal`: the response is 204 without a body.",
  schema: { type: "string" },
} as const;

export const MINIMAL_RESPONSE = {
  description: "Done. The request asked for no body (`Prefer: return=minimal`).",
  headers: { "preference-applied": { description: "Says `return=minimal`.", schema: { type: "string" } } },
} as const;
