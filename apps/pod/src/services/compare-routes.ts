import type { Manifest, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import type { PlanOp } from "@appdb/contract/plan";

/** What changes for the clients of a service between two manifests. Adding never breaks a client; all else may. */
export function compareRoutes(before: Manifest, after: Manifest, name: string): PlanOp[] {
  const old = findService(before, name);
  const now = findService(after, name);
  if (now === undefined) return [];
  if (old === undefined) return now.routes.map((route) => addedRoute(now, route));
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
    else ops.push(...compareRoute(previous, route, after));
  }
  for (const route of known.values()) {
    ops.push({
      ...op("drop", "route", "destructive", `route '${keyOf(route)}' will be removed`),
      name: keyOf(route),
      details: { path: route.path, method: route.method },
    });
  }
  return ops;
}

/** The service of that name in a manifest. */
export function findService(manifest: Manifest, name: string): ManifestService | undefined {
  return manifest.services.find((service) => service.name === name);
}

/** An operation of a service plan that nobody has carried out yet. */
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
  return {
    ...op("add", "route", "additive", `route '${keyOf(route)}' will be added`),
    name: keyOf(route),
    details: { path: service.prefix + route.path, method: route.method },
  };
}

function compareRoute(before: ManifestRoute, after: ManifestRoute, manifest: Manifest): PlanOp[] {
  const breaking: string[] = [];
  const harmless: string[] = [];
  if (before.kind !== after.kind)
    breaking.push(`it becomes ${after.kind === "insert" ? "an insert" : "a compute"} route`);
  if (before.table !== after.table) breaking.push(`it works on ${after.table}`);
  note(breaking, "input", "no longer taken", missing(before.inputs, after.inputs));
  note(breaking, "output", "no longer answered", missing(before.outputs, after.outputs));
  const added = missing(after.inputs, before.inputs);
  note(
    breaking,
    "input",
    "required",
    added.filter((name) => !isOptional(manifest, after.table, name)),
  );
  note(
    harmless,
    "optional input",
    "added",
    added.filter((name) => isOptional(manifest, after.table, name)),
  );
  note(harmless, "output", "added", missing(after.outputs, before.outputs));
  if (before.on_error !== after.on_error) {
    harmless.push(after.on_error === "ignore" ? "a failing cell becomes null" : "a failing cell refuses the row");
  }
  if (breaking.length + harmless.length === 0 && !sameOrder(before.outputs, after.outputs)) {
    harmless.push("its outputs are in another order");
  }
  if (breaking.length + harmless.length === 0) return [];
  const description = `route '${keyOf(after)}' will be replaced: ${[...breaking, ...harmless].join(", ")}`;
  return [
    {
      ...op("alter", "route", breaking.length > 0 ? "destructive" : "additive", description),
      name: keyOf(after),
      details: { path: after.path, method: after.method, breaking, harmless },
    },
  ];
}

function note(into: string[], what: string, how: string, names: readonly string[]): void {
  if (names.length === 0) return;
  into.push(`${what}${names.length > 1 ? "s" : ""} ${names.join(", ")} ${how}`);
}

/** A client that does not know the input may leave it out. */
function isOptional(manifest: Manifest, tableName: string, name: string): boolean {
  const table = manifest.tables.find((candidate) => candidate.name === tableName);
  return table?.columns.find((column) => column.name === name)?.nullable ?? false;
}

function missing(from: readonly string[], other: readonly string[]): string[] {
  return from.filter((name) => !other.includes(name));
}

function sameOrder(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name, index) => name === right[index]);
}

function keyOf(route: ManifestRoute): string {
  return `${route.method.toUpperCase()} ${route.path}`;
}
