import type { Manifest, ManifestRoute, ManifestService, ManifestTable } from "@appdb/contract/manifest";
import { serviceText } from "@appdb/contract/names";
import type { BrokenService, SchemaPlan } from "@appdb/contract/plan";
import { routeKind } from "@appdb/engine/route-kinds/route-kinds";
import { compareRoutes, findService } from "@appdb/engine/services/compare-routes";
import { lowerViews } from "@appdb/engine/views/lower-views";
import type { StoredService } from "./service-store.ts";

/** A running service with the application that it was started with. */
export interface RunningService {
  readonly service: string;
  /** The database or folder of its tables: `main/reports`, `cloud://acme:main`. */
  readonly target: string;
  readonly manifest: Manifest;
  /** Hosted services have none. */
  readonly project_root?: string | undefined;
}

export function runningOf({ manifest, runtime, service, target }: StoredService): RunningService {
  return { manifest, project_root: runtime.project_root, service, target };
}

export interface NextApplication {
  readonly manifest: Manifest;
  readonly project_root?: string | undefined;
}

/** The result of a change of one table: `manifest` declares it from then on, null if it went. */
export interface Change {
  readonly plan: SchemaPlan;
  readonly manifest: Manifest | null;
  readonly project_root?: string | undefined;
}

/** Services of a database that a change of one table breaks: those of columns that went, and those of tables that went. */
export function findBrokenByChange(
  { manifest, plan, project_root: projectRoot }: Change,
  running: readonly RunningService[],
): BrokenService[] {
  const ofGone = running.flatMap((service) => usersOf(service, goneTables(plan), projectRoot));
  const known = new Set(ofGone.map(({ service }) => service));
  const ofChanged = manifest === null ? [] : findBrokenServices(plan, { manifest, project_root: projectRoot }, running);
  return [...ofGone, ...ofChanged.filter(({ service }) => !known.has(service))];
}

/** Complete paths of tables that a change dropped, renamed or moved. The target of a move is the database. */
function goneTables({ tables, target }: SchemaPlan): string[] {
  return tables.flatMap(({ ops, path }) =>
    ops.flatMap(({ details, op, target: what }) => {
      if (what !== "table") return [];
      if (op === "drop") return [path];
      const { moved_from: movedFrom, renamed_from: renamedFrom } = details;
      if (typeof movedFrom === "string") return [`${target}/${movedFrom}`];
      return typeof renamedFrom === "string" ? [`${path.slice(0, path.lastIndexOf("/"))}/${renamedFrom}`] : [];
    }),
  );
}

/** A service with a route over one of some tables. */
function usersOf(
  { manifest, project_root: root, service, target }: RunningService,
  gone: readonly string[],
  projectRoot: string | undefined,
): BrokenService[] {
  const routes = findService(manifest, service)?.routes ?? [];
  const tables = new Set(
    routes.flatMap((route) => {
      if ("table" in route) return [route.table];
      const query = "query" in route ? manifest.queries.find(({ id }) => id === route.query)?.query : undefined;
      return query === undefined ? [] : [query.from, ...query.joins].map(({ table }) => table);
    }),
  );
  const used = [...tables].map((table) => `${target}/${table}`).filter((path) => gone.includes(path));
  if (used.length === 0) return [];
  return [
    {
      service: serviceText({ catalog_path: target, name: service }),
      tables: used,
      app_file: manifest.app_file,
      project_root: root === undefined || root === projectRoot ? null : root,
      is_defined: true,
      is_destructive: false,
    },
  ];
}

/**
 * Services of a target with routes that an update breaks until the services are updated too. A write is refused if a
 * known column was removed, renamed or retyped, or if a new column must be given. A query is refused if such a column
 * is one that it reads, or if its table was renamed. Handlers can write to all tables. Pure.
 */
export function findBrokenServices(
  plan: SchemaPlan,
  next: NextApplication,
  running: readonly RunningService[],
): BrokenService[] {
  const changed = new Set(plan.tables.filter(({ ops }) => ops.length > 0).map(({ path }) => path));
  return running.flatMap(({ manifest, project_root: root, service: name, target }) => {
    const defined = findService(manifest, name);
    const broken = lowerViews(manifest).tables.flatMap((table) => {
      const after = lowerViews(next.manifest).tables.find(
        (one) => one.name === table.name || one.renamed_from === table.name,
      );
      if (defined === undefined || after === undefined || !changed.has(`${target}/${after.name}`)) return [];
      return defined.routes.some((route) => isBroken(route, { manifest, before: table, after })) ||
        (defined.app != null && breaksWrites(table, after))
        ? [`${target}/${table.name}`]
        : [];
    });
    if (broken.length === 0) return [];
    const isSame = root === next.project_root && manifest.app_file === plan.app_file;
    return [
      {
        service: serviceText({ catalog_path: target, name }),
        tables: broken,
        app_file: manifest.app_file,
        project_root: root === undefined || root === next.project_root ? null : root,
        is_defined: !isSame || findService(next.manifest, name) !== undefined,
        is_destructive: isSame && compareRoutes(manifest, next.manifest, name).some((op) => op.destructive),
      },
    ];
  });
}

interface TableChange {
  readonly manifest: Manifest;
  readonly before: ManifestTable;
  readonly after: ManifestTable;
}

function isBroken(route: ManifestService["routes"][number], { after, before, manifest }: TableChange): boolean {
  if ("query" in route) return breaksQuery(route, { after, before, manifest });
  if (!routeKind(route).changesRows || ("table" in route && route.table !== before.name)) return false;
  return breaksWrites(before, after);
}

function breaksWrites(before: ManifestTable, after: ManifestTable): boolean {
  if (before.primary_key.join() !== after.primary_key.join()) return true;
  const known = new Set(before.columns.map(({ name }) => name));
  const mustBeGiven = after.columns.some(
    ({ computed, default: defaultValue, name, nullable }) =>
      !known.has(name) && computed === null && !nullable && defaultValue == null,
  );
  return mustBeGiven || changedColumns(before, after).size > 0;
}

function breaksQuery(
  route: Extract<ManifestRoute, { query: string }>,
  { after, before, manifest }: TableChange,
): boolean {
  const query = manifest.queries.find(({ id }) => id === route.query)?.query;
  const refs = query === undefined ? [] : [query.from, ...query.joins];
  const names = new Set(refs.filter(({ table }) => table === before.name).map(({ as }) => as));
  if (query === undefined || names.size === 0) return false;
  if (before.name !== after.name) return true;
  const gone = changedColumns(before, after);
  let isRead = false;
  JSON.stringify(query, (_key, value: unknown) => {
    isRead ||= isColumn(value) && gone.has(value.name) && (value.of === undefined || names.has(value.of));
    return value;
  });
  return isRead;
}

function isColumn(value: unknown): value is { readonly name: string; readonly of?: string } {
  return typeof value === "object" && value !== null && "node" in value && value.node === "column";
}

/** Names of columns that were removed, renamed or retyped, or became computed or stored. */
function changedColumns(before: ManifestTable, after: ManifestTable): Set<string> {
  const isStored = ({ computed }: ManifestTable["columns"][number]) => computed === null;
  const changed = before.columns.filter((column) => {
    const now = after.columns.find(({ name }) => name === column.name);
    if (now === undefined) return true;
    return JSON.stringify(now.type) !== JSON.stringify(column.type) || isStored(now) !== isStored(column);
  });
  return new Set(changed.map(({ name }) => name));
}
