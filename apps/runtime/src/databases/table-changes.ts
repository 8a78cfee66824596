import { existsSync } from "node:fs";
import type { Manifest } from "@appdb/contract/manifest";
import { parseTablePath, type TablePath } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import { isProgramModule } from "@appdb/contract/program-code";
import type { Progress } from "@appdb/contract/routes/local";
import type {
  HistoryEntry,
  historyQuerySchema,
  tableChangeRequestSchema,
  tableDefinitionSchema,
} from "@appdb/contract/routes/table-changes";
import { changedTables, makesDatabase } from "@appdb/contract/routes/table-changes";
import type { Catalog } from "@appdb/engine/catalog/catalog";
import { readRuntime } from "@appdb/engine/catalog/catalog-store";
import { emptyCatalog, hasCatalog, loadCatalog, readDefinitions } from "@appdb/engine/catalog/load-catalog";
import { readSources } from "@appdb/engine/data-queries/read-sources";
import type { SqlPool } from "@appdb/engine/ports";
import { listHistory } from "@appdb/engine/schema/changes";
import { type ChangeRequest, changeTable, planFirstChange } from "@appdb/engine/table-changes/change-table";
import { columnsOf } from "@appdb/engine/table-changes/plan-change";
import { storedIn } from "@appdb/engine/table-changes/plan-folder";
import { declarationOf, findStored, requireStored } from "@appdb/engine/table-changes/read-declaration";
import { folderSchema } from "@appdb/engine/target";
import type * as z from "zod";
import { checkDestinations } from "../media/check-destinations.ts";
import { findPlace } from "./find-place.ts";
import type { OpenDatabase } from "./open-databases.ts";
import type { LocalSchemaDeps } from "./schema.ts";
import { watchChange } from "./watch-change.ts";

/** The data API's routes about definitions and changes of tables, for the daemon and the pod. */

type Request = z.output<typeof tableChangeRequestSchema>;

export interface TableChangeDeps extends Pick<LocalSchemaDeps, "clock" | "log" | "runtimes"> {
  /** Opens the database of a request. A new one is only made for a first table or folder; undefined: it is missing. */
  open(isFirst: boolean): Promise<Pick<OpenDatabase, "sql" | "creations" | "hold"> | undefined>;
  /** Prefix of the paths of its tables: `main`, `cloud://acme:main`. */
  readonly uri: string;
  /** Whether tables belong to the project folders of their requests: those of a person's machine do. */
  readonly owns_projects: boolean;
  /** Called when the tables are changed, before fills have ended; `target` is the folder of the changed table. */
  readonly onApplied?: (
    target: string,
    code: Pick<Manifest, "functions" | "resource_pools">,
    isCalled: (id: string) => boolean,
  ) => void;
  /** Called when the fills have ended. Rows that were inserted meanwhile may be incomplete. */
  readonly onFilled?: () => void;
  /** Called before a table of this runtime moves from one folder to another, alone or with its folder. */
  readonly onMove?: (runtimeId: string, from: string, to: string) => void;
}

/**
 * Changes a table or folder and waits for the fills. When the signal aborts, they continue in the background.
 * @throws app_invalid, the errors of `changeTable`; fill_failed, job_cancelled
 */
export async function changeDatabase(
  deps: TableChangeDeps,
  {
    change,
    digests: _digests,
    dry_run: isDry,
    on_error: onError,
    program: _,
    project_root: projectRoot,
    runtime,
    ...code
  }: Request,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<{ plan: SchemaPlan; manifest: Manifest | null }> {
  checkChange(change, deps.uri);
  const project = deps.owns_projects ? (runtime?.project_root ?? projectRoot ?? undefined) : undefined;
  const database = await deps.open(makesDatabase(change) && !isDry);
  const request: Omit<ChangeRequest, "runtime_id"> = {
    ...code,
    change,
    database: deps.uri,
    on_error: onError,
    dry_run: isDry,
    ...(project === undefined ? {} : { project, isOtherProject: (one: string) => one !== project && existsSync(one) }),
  };
  if (database === undefined) return await planFirstChange({ ...request, runtime_id: null }, emptyCatalog());
  const { creations, hold, sql } = database;
  using _held = hold();
  if (isDry && !(await hasCatalog(sql))) return await planFirstChange({ ...request, runtime_id: null }, emptyCatalog());
  const runtimeId =
    runtime === null || isDry ? null : deps.runtimes.save(runtime, await appFileFor(deps, sql, change, code.functions));
  if (!isDry && change.change === "move_table") await prepareMove(deps, sql, change);
  const own: ChangeRequest = { ...request, runtime_id: runtimeId };
  const changed = await changeTable({ creations, sql, clock: deps.clock, log: deps.log }, own, signal);
  const [first] = changedTables(change);
  if (!isDry && first !== undefined && deps.onApplied !== undefined) {
    const tables = JSON.stringify((await loadCatalog(sql)).tables);
    const isCalled = (id: string) => tables.includes(JSON.stringify(id));
    deps.onApplied(parseTablePath(`${deps.uri}/${first}`).target.text, code, isCalled);
  }
  const { clock, log, onFilled } = deps;
  const watching = { ...database, clock, log, ...(onFilled === undefined ? {} : { onFilled }) };
  await watchChange(watching, own, changed, onProgress, signal);
  return { plan: changed.plan, manifest: changed.manifest };
}

/** @throws app_invalid for files that the database cannot store where a new column says */
function checkChange(change: Request["change"], uri: string): void {
  const columns = columnsOf(change);
  for (const [at, path] of changedTables(change).entries()) {
    const { table, target } = parseTablePath(`${uri}/${path}`);
    checkDestinations({ tables: [{ name: table, columns: [...(columns[at] ?? [])] }] }, target.text);
  }
}

/** Does what is to do for each folder with code of a table that moves, or that is in a folder that moves. */
async function prepareMove(
  { onMove, uri }: TableChangeDeps,
  sql: SqlPool,
  { table, to }: Extract<Request["change"], { change: "move_table" }>,
): Promise<void> {
  if (onMove === undefined) return;
  const from = parseTablePath(`${uri}/${table}`);
  const next = parseTablePath(`${uri}/${to}`);
  const catalog = await loadCatalog(sql);
  const stored = findStored(catalog, folderSchema(from.target.text), from.table);
  const moved = (stored === undefined ? storedIn(catalog, folderSchema(from.text)) : [stored]).map((one) => {
    const folder = targetOf(uri, one.table.folder);
    const other = stored === undefined ? `${next.text}${folder.slice(from.text.length)}` : next.target.text;
    return { id: one.table.id, from: folder, to: other };
  });
  for (const one of moved) {
    const runtimeId = await readRuntime(sql, one.id);
    if (runtimeId !== null && one.from !== one.to) onMove(runtimeId, one.from, one.to);
  }
}

function targetOf(uri: string, folder: string): string {
  return folder === "public" ? uri : `${uri}/${folder}`;
}

function isStored(catalog: Catalog, { table, target }: TablePath): boolean {
  return findStored(catalog, folderSchema(target.text), table) !== undefined;
}

/** The runtime of a table's last update; null without one. */
async function findRuntime(sql: SqlPool, { table, target }: TablePath): Promise<string | null> {
  const stored = findStored(await loadCatalog(sql), folderSchema(target.text), table);
  return stored === undefined ? null : await readRuntime(sql, stored.table.id);
}

/**
 * The file of a table's last update, else that of the functions of a local project. The modules of a hosted database
 * declare no application.
 */
async function appFileFor(
  { owns_projects: isLocal, runtimes, uri }: TableChangeDeps,
  sql: SqlPool,
  change: Request["change"],
  functions: Request["functions"],
): Promise<string | null> {
  const ofModule = functions.find(({ module }) => !isProgramModule(module));
  const own = isLocal ? (ofModule?.source.file ?? null) : null;
  const [first] = changedTables(change);
  if (first === undefined) return own;
  const runtimeId = await findRuntime(sql, parseTablePath(`${uri}/${first}`));
  return (runtimeId === null ? null : runtimes.find(runtimeId)?.app_file) ?? own;
}

/** Reads a definition as `create_table` takes it, without columns that are still being filled. @throws table_not_found, invalid_target */
export async function readDefinition(
  { sql, uri }: { readonly sql: SqlPool; readonly uri: string },
  text: string,
): Promise<z.input<typeof tableDefinitionSchema>> {
  const path = parseTablePath(`${uri}/${text}`);
  const catalog = await readDefinitions(sql);
  const definition = declarationOf(catalog, requireStored(catalog, path));
  const readable = readSources(catalog).get(text)?.columns;
  return {
    definition: { ...definition, columns: definition.columns.filter(({ name }) => readable?.has(name) ?? true) },
    functions: [],
    resource_pools: [],
    runtime: null,
    program: null,
  };
}

/** Lists the changes of a database, a folder or a table, also of one that was dropped. @throws table_not_found, invalid_target */
export async function readHistory(
  source: { readonly sql: SqlPool; readonly uri: string },
  { limit, table }: z.output<typeof historyQuerySchema>,
): Promise<{ entries: HistoryEntry[] }> {
  const { sql } = source;
  const has = await hasCatalog(sql);
  const isTable =
    has && table !== undefined && isStored(await loadCatalog(sql), parseTablePath(`${source.uri}/${table}`));
  const entries = has ? await listHistory(sql, { limit, table: table ?? null, is_table: isTable }) : [];
  if (entries.length === 0 && table !== undefined) await findPlace(source, table);
  return { entries: [...entries] };
}
