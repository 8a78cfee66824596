import { appError } from "@appdb/contract/errors";
import type {
  Manifest,
  ManifestQueryRoute,
  ManifestRoute,
  ManifestRowRoute,
  ManifestService,
  ManifestTable,
  ManifestUpdateRoute,
} from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import { referencedColumns } from "../expressions/needs-python.ts";
import { PAGE_PARAMETERS } from "./page-request.ts";

/** Paths that every service answers itself. A person's own GET of /docs would win; the others cannot be taken. */
const RESERVED = new Set(["/health", "/openapi.json"]);

/**
 * Finds what would make a route fail at each of its requests, before anything is served: unknown tables and columns,
 * computed inputs, required columns that are no inputs, two routes of one path.
 * @throws app_invalid naming file and line
 */
export function checkRoutes(manifest: Manifest, service: ManifestService): void {
  const paths = new Set<string>();
  for (const route of service.routes) {
    const path = service.prefix + route.path;
    const refuse = refuser(service, route, path);
    if (!path.startsWith("/")) refuse(`The path ${path} does not start with "/".`);
    if (RESERVED.has(path)) refuse(`The path ${path} is answered by every service itself.`);
    // A parameter is one whatever its name.
    const place = `${route.method} ${path.replace(/\{[^/]*\}/g, "{}")}`;
    if (paths.has(place)) refuse(`The path ${path} is declared twice.`);
    paths.add(place);
    if (route.kind === "handler") continue;
    if (route.kind === "query") {
      checkQuery(manifest, route, refuse);
      continue;
    }
    const table = manifest.tables.find((candidate) => candidate.name === route.table);
    if (table === undefined) {
      refuse(`There is no table ${route.table}.`);
      continue;
    }
    if (route.kind === "update") checkUpdate(table, route, refuse);
    else if (route.kind === "delete") checkNames(table, route.match_columns, refuse);
    else checkColumns(table, route, refuse);
  }
}

type Refuse = (detail: string) => void;

function refuser(service: ManifestService, route: ManifestRoute, path: string): Refuse {
  return (detail) => {
    throw appError("app_invalid", {
      detail: `${route.source.file}:${route.source.line}: ${detail}`,
      hint: `Correct the route ${path} of service ${service.name}.`,
      meta: {
        service: service.name,
        path,
        ...workedOn(route),
      },
    });
  };
}

function workedOn(route: ManifestRoute): Record<string, string> {
  if (route.kind === "handler") return { handler: route.handler.id };
  return route.kind === "query" ? { query: route.query } : { table: route.table };
}

function checkQuery(manifest: Manifest, route: ManifestQueryRoute, refuse: Refuse): void {
  const query = manifest.queries.find((candidate) => candidate.id === route.query);
  if (query === undefined) {
    refuse(`There is no query ${route.query}.`);
    return;
  }
  const tables = [query.query.from, ...query.query.joins].map(({ table }) => table);
  for (const table of tables) {
    if (!manifest.tables.some((candidate) => candidate.name === table)) refuse(`There is no table ${table}.`);
  }
  const names = query.parameters.map(({ name }) => name);
  for (const name of PAGE_PARAMETERS) {
    if (names.includes(name)) refuse(`Query ${query.name} has a parameter ${name}, by which clients ask for pages.`);
  }
  for (const name of route.inputs) {
    if (names.includes(name)) continue;
    const nearest = nearestName(name, names);
    refuse(`Query ${query.name} has no parameter ${name}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`);
  }
  for (const parameter of query.parameters) {
    if (route.inputs.includes(parameter.name) || parameter.default !== undefined) continue;
    refuse(`Parameter ${parameter.name} has no default, but is no input of the route.`);
  }
}

function checkUpdate(table: ManifestTable, route: ManifestUpdateRoute, refuse: Refuse): void {
  checkNames(table, [...route.inputs, ...route.outputs], refuse);
  checkInputs(table, route.inputs, refuse);
  checkAnswerer(route, refuse);
  if (table.primary_key.length === 0) refuse(`Table ${table.name} has no primary key to find a row by.`);
  if (table.primary_key.join() !== route.key.join()) {
    refuse(`The route's key is (${route.key.join(", ")}), the table's is (${table.primary_key.join(", ")}).`);
  }
  const read = readBy(table, table.primary_key);
  for (const name of route.inputs) {
    if (read.has(name)) refuse(`The primary key is, or is computed from, ${name}, which cannot be an input.`);
  }
}

/** The function of a route is given outputs alone. */
function checkAnswerer(route: ManifestRowRoute | ManifestUpdateRoute, refuse: Refuse): void {
  for (const name of route.handler?.parameters ?? []) {
    if (!route.outputs.includes(name)) refuse(`${route.handler?.id} takes ${name}, which is no output of the route.`);
  }
}

function checkNames(table: ManifestTable, names: readonly string[], refuse: Refuse): void {
  const known = table.columns.map((column) => column.name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    refuse(`Table ${table.name} has no column ${name}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`);
  }
}

function checkInputs(table: ManifestTable, inputs: readonly string[], refuse: Refuse): void {
  for (const { name, computed } of table.columns) {
    if (computed !== null && inputs.includes(name)) refuse(`Column ${name} is computed and cannot be an input.`);
  }
}

function checkColumns(table: ManifestTable, route: ManifestRowRoute, refuse: Refuse): void {
  const columns = new Map(table.columns.map((column) => [column.name, column]));
  checkNames(table, [...route.inputs, ...route.outputs], refuse);
  checkInputs(table, route.inputs, refuse);
  checkAnswerer(route, refuse);
  const needed = route.kind === "insert" ? new Set(columns.keys()) : readBy(table, route.outputs);
  for (const column of table.columns) {
    if (column.computed !== null || column.nullable || column.default != null || !needed.has(column.name)) continue;
    if (!route.inputs.includes(column.name)) refuse(`Column ${column.name} is required, but no input of the route.`);
  }
}

/** The columns that the outputs hang on, the outputs included. */
function readBy(table: ManifestTable, outputs: readonly string[]): Set<string> {
  const read = new Set<string>();
  const visit = (name: string): void => {
    if (read.has(name)) return;
    read.add(name);
    const expr = table.columns.find((column) => column.name === name)?.computed?.expr;
    for (const next of expr === undefined ? [] : referencedColumns(expr)) visit(next);
  };
  for (const name of outputs) visit(name);
  return read;
}
