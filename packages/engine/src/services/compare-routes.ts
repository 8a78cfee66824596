import type { Manifest, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import type { PlanOp } from "@appdb/contract/plan";
import { missing, type RouteChanges } from "../route-kinds/route-changes.ts";
import type { Manifests } from "../route-kinds/route-kind.ts";
import { routeKind } from "../route-kinds/route-kinds.ts";
import { backgroundOf } from "../routes/route.ts";

/** The changes for a service's clients between two manifests. Additions never break a client; other changes may. */
export function compareRoutes(before: Manifest, after: Manifest, name: string): PlanOp[] {
  const old = findService(before, name);
  const now = findService(after, name);
  if (now === undefined) return [];
  if (old === undefined)
    return [...now.routes.map((route) => addedRoute(now, route)), ...compareApplications(old, now)];
  const ops: PlanOp[] = [];
  if (old.prefix !== now.prefix) {
    ops.push({
      ...op("alter", "service", "destructive", `the prefix '${old.prefix}' becomes '${now.prefix}'`),
      name,
      details: { prefix: now.prefix, previous_prefix: old.prefix },
    });
  }
  const known = new Map(old.routes.map((route) => [keyOf(route), route]));
  for (const route of now.routes) {
    const previous = known.get(keyOf(route));
    known.delete(keyOf(route));
    if (previous === undefined) ops.push(addedRoute(now, route));
    else ops.push(...compareRoute(previous, route, placeOf(now, route), { before, after }));
  }
  for (const route of known.values()) {
    const { called, details } = placeOf(old, route);
    ops.push({ ...op("drop", "route", "destructive", `route '${called}' will be removed`), name: called, details });
  }
  return [...ops, ...compareApplications(old, now)];
}

/** The paths that an application object handles itself, as far as it describes them. */
function compareApplications(old: ManifestService | undefined, now: ManifestService): PlanOp[] {
  const before = ownPaths(old);
  const after = ownPaths(now);
  return [
    ...missing(after, before).map((path) => ({
      ...op("add", "route", "additive", `path '${path}' will be served`),
      name: path,
      details: { path },
    })),
    ...missing(before, after).map((path) => ({
      ...op("drop", "route", "destructive", `path '${path}' will no longer be served`),
      name: path,
      details: { path },
    })),
  ];
}

function ownPaths(service: ManifestService | undefined): string[] {
  const paths = service?.app?.openapi?.paths;
  if (service === undefined || typeof paths !== "object" || paths === null) return [];
  const ofRouters = new Set(service.routes.map(({ path }) => path));
  return Object.keys(paths).filter((path) => !ofRouters.has(path));
}

/** The service with that name in a manifest. */
export function findService(manifest: Pick<Manifest, "services">, name: string): ManifestService | undefined {
  return manifest.services.find((service) => service.name === name);
}

/** A pending operation of a service plan. */
export function op(
  kind: PlanOp["op"],
  target: PlanOp["target"],
  severity: PlanOp["severity"],
  description: string,
): PlanOp {
  return {
    name: null,
    op: kind,
    severity,
    description,
    requires_restart: true,
    status: null,
    target,
    details: {},
    destructive: severity === "destructive",
  };
}

function addedRoute(service: ManifestService, route: ManifestRoute): PlanOp {
  const { called, details } = placeOf(service, route);
  return { ...op("add", "route", "additive", `route '${called}' will be added`), name: called, details };
}

/** The place of a route: as a text, and as its parts. */
interface Place {
  readonly called: string;
  readonly details: { readonly path: string; readonly method: string };
}

function placeOf({ prefix }: ManifestService, { method, path }: ManifestRoute): Place {
  const whole = prefix + path;
  return { called: `${method.toUpperCase()} ${whole}`, details: { path: whole, method } };
}

function compareRoute(
  before: ManifestRoute,
  after: ManifestRoute,
  { called, details }: Place,
  manifests: Manifests,
): PlanOp[] {
  const changes: RouteChanges = { breaking: [], compatible: [] };
  const kind = routeKind(after);
  if (before.kind !== after.kind) changes.breaking.push(`it becomes ${kind.title} route`);
  kind.compare(before, after, manifests, changes);
  compareBackground(before, after, changes);
  const { breaking, compatible } = changes;
  if (breaking.length + compatible.length === 0) return [];
  const description = `route '${called}' will be replaced: ${[...breaking, ...compatible].join(", ")}`;
  return [
    {
      ...op("alter", "route", breaking.length > 0 ? "destructive" : "additive", description),
      name: called,
      details: { ...details, breaking, harmless: compatible },
    },
  ];
}

function compareBackground(before: ManifestRoute, after: ManifestRoute, changes: RouteChanges): void {
  const [old, now] = [backgroundOf(before), backgroundOf(after)];
  if ((old === null) !== (now === null)) {
    changes.breaking.push(now === null ? "it returns its result, not a job" : "it returns a job, not its result");
  } else if (JSON.stringify(old) !== JSON.stringify(now)) changes.compatible.push("its job settings changed");
}

/** The identity of a route, independent of the prefix. */
function keyOf(route: ManifestRoute): string {
  return `${route.method.toUpperCase()} ${route.path}`;
}
