import type { Manifest, ManifestService } from "@appdb/contract/manifest";
import { VERSION } from "@appdb/contract/version";
import { describeInBackground, hasBackground, JOB_PATHS, JOB_SCHEMAS } from "../background/describe-background.ts";
import type { Json } from "../kinds/kind.ts";
import { PROBLEM_SCHEMA } from "../openapi/errors.ts";
import { NamedSchemas } from "../openapi/named-schemas.ts";
import type { OpenApiDocument } from "../openapi/schemas.ts";
import { routeKind } from "../route-kinds/route-kinds.ts";
import { backgroundOf } from "../routes/route.ts";
import { lowerViews } from "../views/lower-views.ts";

/** Describes a service as OpenAPI 3.1, from the same columns as its validators. */
export function describeService(declared: Manifest, declaredService: ManifestService): OpenApiDocument {
  const manifest = lowerViews({ ...declared, services: [declaredService] });
  const [service = declaredService] = manifest.services;
  const paths: Record<string, Json> = {};
  const schemas = new NamedSchemas();
  schemas.add("Problem", PROBLEM_SCHEMA);
  if (hasBackground(service)) for (const [name, schema] of Object.entries(JOB_SCHEMAS)) schemas.add(name, schema);
  for (const route of service.routes) {
    const path = service.prefix + route.path;
    const operation = routeKind(route).openapi(route, { manifest, path, schemas });
    if (operation === undefined) continue;
    const described = backgroundOf(route) === null ? operation : describeInBackground(operation);
    paths[path] = { ...(paths[path] as { readonly [key: string]: Json } | undefined), [route.method]: described };
  }
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: { title: service.name, version: VERSION },
    paths: { ...withTags(paths, service.tags ?? []), ...(hasBackground(service) ? JOB_PATHS : {}) },
    components: { schemas: schemas.toJSON() },
  };
  return service.app?.openapi == null ? document : withApplication(document, service.app.openapi);
}

type Members = { readonly [key: string]: Json };

/** The paths of a service, with these tags first in each operation. */
function withTags(paths: Readonly<Record<string, Json>>, tags: readonly string[]): Record<string, Json> {
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

/** The document of an application object, extended by the routes of its routers. */
function withApplication(own: OpenApiDocument, app: Readonly<Record<string, unknown>>): OpenApiDocument {
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
