import type { ManifestHandlerRoute } from "@appdb/contract/manifest";
import type { Json } from "./openapi-schemas.ts";

/** The operation of a hand-written handler: what Python read from its signature, and the errors of all. */
export function describeHandler(
  route: ManifestHandlerRoute,
  operationId: string,
  errors: Readonly<Record<string, Json>>,
): Json {
  const fragment = route.openapi as { readonly [key: string]: Json };
  const own = fragment.responses as { readonly [key: string]: Json } | undefined;
  return { operationId, ...fragment, responses: { ...errors, ...own, default: OTHERS } };
}

/** A handler may refuse with any status. */
const OTHERS: Json = {
  description: "`handler_failed`: the application refused the request",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};
