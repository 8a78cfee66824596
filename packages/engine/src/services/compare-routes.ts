import { handlerNames } from "@appdb/contract/handler-names";
import type {
  Manifest,
  ManifestDeleteRoute,
  ManifestHandlerRoute,
  ManifestQuery,
  ManifestQueryRoute,
  ManifestRoute,
  ManifestRowRoute,
  ManifestService,
  ManifestUpdateRoute,
} from "@appdb/contract/manifest";
import type { PlanOp } from "@appdb/contract/plan";

/** What changes for the clients of a service between two manifests. Adding never breaks a client; all else may. */
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

/** The paths that an application object answers itself, as far as it describes them. */
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

/** The service of that name in a manifest. */
export function findService(manifest: Pick<Manifest, "services">, name: string): ManifestService | undefined {
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
  const { called, details } = placeOf(service, route);
  return { ...op("add", "route", "additive", `route '${called}' will be added`), name: called, details };
}

/** Where clients find a route, as one that they read and as its parts. */
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
  manifests: { readonly before: Manifest; readonly after: Manifest },
): PlanOp[] {
  const changes: RouteChanges = { breaking: [], harmless: [] };
  const same = before.kind === after.kind;
  if (!same) changes.breaking.push(`it becomes ${KINDS[after.kind]} route`);
  if (before.kind === "query" && after.kind === "query") compareQueries(before, after, manifests, changes);
  else if (before.kind === "delete" && after.kind === "delete") compareDeletes(before, after, changes);
  else if (before.kind === "handler" && after.kind === "handler") compareHandlers(before, after, changes);
  else if (isOverRow(before) && isOverRow(after)) compareRows(before, after, manifests.after, changes);
  compareBackground(before, after, changes);
  const { breaking, harmless } = changes;
  if (breaking.length + harmless.length === 0) return [];
  const description = `route '${called}' will be replaced: ${[...breaking, ...harmless].join(", ")}`;
  return [
    {
      ...op("alter", "route", breaking.length > 0 ? "destructive" : "additive", description),
      name: called,
      details: { ...details, breaking, harmless },
    },
  ];
}

function compareBackground(before: ManifestRoute, after: ManifestRoute, changes: RouteChanges): void {
  const [old, now] = [before, after].map((route) => (route.kind === "handler" ? null : (route.background ?? null)));
  if ((old == null) !== (now == null)) {
    changes.breaking.push(now == null ? "it answers its result, not a job" : "it answers a job, not its result");
  } else if (JSON.stringify(old) !== JSON.stringify(now)) changes.harmless.push("its jobs are kept otherwise");
}

const KINDS = {
  insert: "an insert",
  update: "an update",
  delete: "a delete",
  compute: "a compute",
  query: "a query",
  handler: "a hand-written",
} as const satisfies Record<ManifestRoute["kind"], string>;

/** A row's values in, a row's values out. */
type OverRow = ManifestRowRoute | ManifestUpdateRoute;

function isOverRow(route: ManifestRoute): route is OverRow {
  return route.kind === "insert" || route.kind === "compute" || route.kind === "update";
}

interface RouteChanges {
  readonly breaking: string[];
  readonly harmless: string[];
}

function compareRows(before: OverRow, after: OverRow, manifest: Manifest, into: RouteChanges): void {
  if (before.table !== after.table) into.breaking.push(`it works on ${after.table}`);
  if (before.on_error !== after.on_error) {
    into.harmless.push(after.on_error === "ignore" ? "a failing cell becomes null" : "a failing cell refuses the row");
  }
  // The fields of an update may all be left out, short of the key.
  const isOptionalNow = (name: string) => after.kind === "update" || isOptional(manifest, after.table, name);
  compareKeys(before, after, into);
  compareNames(withAnswer(before), withAnswer(after), isOptionalNow, into);
  compareAnswers(before, after, into);
  // A URL is a secret: that it changed is all that is told.
  if (JSON.stringify(before.export_sql ?? null) !== JSON.stringify(after.export_sql ?? null)) {
    into.harmless.push(
      after.export_sql == null ? "it exports its rows no longer" : `it exports its rows to ${after.export_sql.table}`,
    );
  }
}

/** Where a function makes the answer, its parameters are nothing that a client sees. */
function withAnswer({ inputs, outputs, handler }: OverRow): Names {
  return { inputs, outputs: handler === null ? outputs : [] };
}

function compareAnswers(before: OverRow, after: OverRow, { breaking, harmless }: RouteChanges): void {
  const [old, now] = [before.handler, after.handler];
  if ((old === null) !== (now === null)) {
    breaking.push(now === null ? "it answers its outputs" : `it answers what ${now.id} returns`);
  } else if (old !== null && now !== null) {
    if (JSON.stringify(old.response) !== JSON.stringify(now.response))
      breaking.push(`${now.id} returns something else`);
    else if (old.id !== now.id) harmless.push(`${now.id} makes the answer`);
  }
}

function compareKeys(before: OverRow, after: OverRow, { breaking }: RouteChanges): void {
  if (before.kind !== "update" || after.kind !== "update") return;
  note(breaking, "key column", "no longer taken", missing(before.key, after.key));
  note(breaking, "key column", "required", missing(after.key, before.key));
}

function compareDeletes(before: ManifestDeleteRoute, after: ManifestDeleteRoute, { breaking }: RouteChanges): void {
  if (before.table !== after.table) breaking.push(`it works on ${after.table}`);
  note(breaking, "match column", "no longer taken", missing(before.match_columns, after.match_columns));
  note(breaking, "match column", "required", missing(after.match_columns, before.match_columns));
}

function compareHandlers(before: ManifestHandlerRoute, after: ManifestHandlerRoute, into: RouteChanges): void {
  const now = handlerNames(after);
  compareNames(handlerNames(before), now, (name) => !now.required.includes(name), into);
  if (into.breaking.length + into.harmless.length > 0) return;
  if (JSON.stringify(before.openapi) !== JSON.stringify(after.openapi)) into.harmless.push("its description changed");
}

function compareQueries(
  before: ManifestQueryRoute,
  after: ManifestQueryRoute,
  manifests: { readonly before: Manifest; readonly after: Manifest },
  { breaking, harmless }: RouteChanges,
): void {
  const old = manifests.before.queries.find((query) => query.id === before.query);
  const now = manifests.after.queries.find((query) => query.id === after.query);
  if (before.one_row !== after.one_row) breaking.push(after.one_row ? "it answers one row" : "it answers many rows");
  if (old === undefined || now === undefined) return;
  if (old.return_scalar !== now.return_scalar) {
    breaking.push(now.return_scalar ? "it answers bare values" : "it answers objects");
  }
  const outputsOf = (query: ManifestQuery) => query.query.select.map((value) => value.name);
  const isOptionalNow = (name: string) => now.parameters.some((known) => known.name === name && "default" in known);
  compareNames(
    { inputs: before.inputs, outputs: outputsOf(old) },
    { inputs: after.inputs, outputs: outputsOf(now) },
    isOptionalNow,
    { breaking, harmless },
  );
  if (breaking.length + harmless.length > 0) return;
  if (JSON.stringify([old.query, old.parameters]) !== JSON.stringify([now.query, now.parameters])) {
    harmless.push("its query changed");
  }
}

interface Names {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

function compareNames(
  before: Names,
  after: Names,
  isOptionalInput: (name: string) => boolean,
  { breaking, harmless }: RouteChanges,
): void {
  const added = missing(after.inputs, before.inputs);
  const required = added.filter((name) => !isOptionalInput(name));
  note(breaking, "input", "no longer taken", missing(before.inputs, after.inputs));
  note(breaking, "output", "no longer answered", missing(before.outputs, after.outputs));
  note(breaking, "input", "required", required);
  note(harmless, "optional input", "added", added.filter(isOptionalInput));
  note(harmless, "output", "added", missing(after.outputs, before.outputs));
  if (breaking.length + harmless.length === 0 && !sameOrder(before.outputs, after.outputs)) {
    harmless.push("its outputs are in another order");
  }
}

function note(into: string[], what: string, how: string, names: readonly string[]): void {
  if (names.length === 0) return;
  into.push(`${what}${names.length > 1 ? "s" : ""} ${names.join(", ")} ${how}`);
}

/** A client that does not know the input may leave it out. */
function isOptional(manifest: Manifest, tableName: string, name: string): boolean {
  const table = manifest.tables.find((candidate) => candidate.name === tableName);
  const column = table?.columns.find((candidate) => candidate.name === name);
  return column !== undefined && (column.nullable || column.default != null);
}

function missing(from: readonly string[], other: readonly string[]): string[] {
  return from.filter((name) => !other.includes(name));
}

function sameOrder(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name, index) => name === right[index]);
}

/** By what a route is known again, also where the prefix changes. */
function keyOf(route: ManifestRoute): string {
  return `${route.method.toUpperCase()} ${route.path}`;
}
