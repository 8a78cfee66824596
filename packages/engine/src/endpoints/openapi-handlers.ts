import type { ManifestHandlerRoute } from "@appdb/contract/manifest";
import type { Json } from "../kinds/kind.ts";
import type { OpenApiDocument } from "./openapi-schemas.ts";

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

type Members = { readonly [key: string]: Json };

/** A service's paths, each operation with these tags before its own. */
export function withTags(paths: Readonly<Record<string, Json>>, tags: readonly string[]): Record<string, Json> {
  if (tags.length === 0) return { ...paths };
  const tagged = (operation: Members): Json => {
    return { ...operation, tags: [...new Set([...tags, ...((operation.tags as string[] | undefined) ?? [])])] };
  };
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations as Members).map(([method, operation]) => [method, tagged(operation as Members)]),
      ),
    ]),
  );
}

/** What an application object says of itself, with our description of the routes of routers in it. */
export function withApplication(own: OpenApiDocument, app: Readonly<Record<string, unknown>>): OpenApiDocument {
  const theirs = app as OpenApiDocument;
  const paths: Record<string, Json> = { ...(theirs.paths as Members | undefined) };
  for (const [path, operations] of Object.entries(own.paths as Members)) {
    paths[path] = { ...(paths[path] as Members | undefined), ...(operations as Members) };
  }
  const [ours, components] = [own.components, theirs.components ?? {}] as [Members, Members];
  const merged: Record<string, Json> = { ...components };
  for (const [kind, named] of Object.entries(ours))
    merged[kind] = { ...(components[kind] as Members), ...(named as Members) };
  return { ...theirs, paths, components: merged };
}
