import { AppError, appError, type Problem, toProblem } from "@appdb/contract/errors";
import { parseTarget, type Target } from "@appdb/contract/names";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { LocalDatabase } from "@appdb/contract/routes/local";
import { VERSION } from "@appdb/contract/version";
import type { DiskSpace } from "@appdb/system/files/disk-space";
import type { Context, FoundDaemon } from "../../context.ts";
import { findOrHung } from "../../daemon/find-or-hung.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count, countTables } from "../../output/count.ts";
import { formatBytes } from "../../output/sizes.ts";
import { type DaemonStatus, describeDaemon } from "../daemon/status.ts";
import { openData } from "../data/data-target.ts";
import { OPTIONAL_TARGET } from "../parameters.ts";
import { describeDisk, isNoAnswer } from "./home-disk.ts";

/** A database with sums over its tables. */
interface DatabaseStatus {
  readonly name: string;
  /** Of a hosted database; null for a local one. */
  readonly state: string | null;
  /** Null while the tables of a hosted database cannot be read, with its state. */
  readonly tables: number | null;
  readonly views: number | null;
  readonly failed_cells: number | null;
  readonly bytes: number | null;
  readonly media_bytes: number | null;
}

interface Status {
  /** Of this command. */
  readonly version: string;
  /** Of this machine; null for a hosted database. */
  readonly daemon: DaemonStatus | null;
  /** The disk of this machine's home; null for a hosted database. */
  readonly disk: DiskSpace | null;
  /** Why the databases of this machine cannot be read, or their daemon does not answer; null if they can. */
  readonly failure: Pick<Problem, "code" | "detail" | "hint"> | null;
  /** The address of the hosted service; null for this machine. */
  readonly server: string | null;
  readonly databases: readonly DatabaseStatus[];
}

/** Starts no daemon without a target. Exits with 0 in any state. */
export const status = defineCommand<JsonFlag, [target?: string], Status>({
  brief: "Show this machine, or a database: version, daemon, tables, failed cells, sizes",
  examples: [
    ["cli status", "this machine with all its databases"],
    ["cli status main", "one of them"],
    ["cli status cloud://acme:main --json", "a hosted database, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPTIONAL_TARGET] } },
  run: async (ctx, _flags, typed) => {
    const target = typed === undefined ? undefined : parseTarget(typed);
    if (target?.kind === "hosted") return await hostedStatus(ctx, target);
    if (target !== undefined) await ctx.daemon.ensure();
    const found = await findOrHung(ctx);
    const disk = (await ctx.readDisk(ctx.config.home)) ?? null;
    const machine = { version: VERSION, disk, server: null };
    if (found instanceof AppError) {
      const daemon = { ...describeDaemon(ctx, undefined), running: true };
      return { ...machine, daemon, failure: failureOf(found), databases: [] };
    }
    const daemon = describeDaemon(ctx, found);
    try {
      return { ...machine, daemon, failure: null, databases: await localStatuses(ctx, found, target) };
    } catch (error) {
      if (!isNoAnswer(error)) throw error;
      return { ...machine, daemon, failure: failureOf(error), databases: [] };
    }
  },
  render: ({ daemon, databases, disk, failure, server, version }, out) => {
    out.line(`version   ${version}`);
    if (server !== null) out.line(`server    ${server}`);
    if (daemon !== null) {
      const { health, home, port, running } = daemon;
      out.line(`home      ${home}`);
      out.line(
        health === null
          ? `daemon    ${running ? "FAILED" : "not running; it starts with the next command that needs it"}`
          : `daemon    process ${health.pid}, port ${port}, version ${health.version}, PostgreSQL ${health.postgres}, ${count(health.services, "service")} running`,
      );
    }
    if (disk !== null) out.line(`disk      ${describeDisk(disk)}`);
    if (failure !== null) {
      out.line();
      out.line(failure.detail);
      if (failure.hint !== undefined) out.line(failure.hint);
    }
    const lines = databases.map((database) => [
      database.name,
      database.state ?? "",
      database.tables === null ? "tables unknown" : countTables(database.tables, database.views ?? 0),
      database.failed_cells ? count(database.failed_cells, "failed cell") : "",
      sizeOf(database),
    ]);
    if (lines.length > 0) out.line();
    for (const line of alignColumns(lines)) out.line(line);
  },
});

function failureOf(error: AppError): Status["failure"] {
  const { code, detail, hint } = toProblem(error);
  return { code, detail, ...(hint === undefined ? {} : { hint }) };
}

async function localStatuses(
  ctx: Context,
  found: FoundDaemon | undefined,
  target: (Target & { readonly kind: "local" }) | undefined,
): Promise<DatabaseStatus[]> {
  const local =
    found === undefined ? [] : (await found.client.call("databaseList", {}, { signal: ctx.signal })).databases;
  const chosen = target === undefined ? local : [requireDatabase(local, target.database)];
  const databases: DatabaseStatus[] = [];
  for (const database of chosen) databases.push(await localStatus(ctx, database));
  return databases;
}

function sizeOf({ bytes, media_bytes: mediaBytes }: DatabaseStatus): string {
  if (bytes === null) return "";
  return mediaBytes ? `${formatBytes(bytes)} and ${formatBytes(mediaBytes)} of files` : formatBytes(bytes);
}

function requireDatabase(databases: readonly LocalDatabase[], name: string): LocalDatabase {
  const database = databases.find((one) => one.name === name);
  if (database !== undefined) return database;
  throw appError("database_not_found", {
    detail: `There is no database ${name}.`,
    hint: "List those of this machine: cli db list --local",
    meta: { database: name },
  });
}

async function localStatus(ctx: Context, database: LocalDatabase): Promise<DatabaseStatus> {
  const { bytes, media_bytes: mediaBytes, name, tables, views } = database;
  const read = (await (await openData(ctx, parseTarget(name))).list()).tables;
  return { name, state: null, tables, views, failed_cells: countFailed(read), bytes, media_bytes: mediaBytes };
}

async function hostedStatus(ctx: Context, target: Target & { readonly kind: "hosted" }): Promise<Status> {
  const { client, server } = await (await ctx.control()).open();
  const params = { org: target.uri.organization, db: target.uri.database };
  const { state, usage } = await client.call("databaseShow", { params }, { signal: ctx.signal });
  // a sleeping database must not wake for its status
  const read = state === "AVAILABLE" ? (await (await openData(ctx, target)).list()).tables : null;
  const database: DatabaseStatus = {
    name: target.uri.text,
    state,
    ...countsOf(read),
    bytes: usage?.disk_bytes ?? null,
    media_bytes: usage?.media_bytes ?? null,
  };
  return { version: VERSION, daemon: null, disk: null, failure: null, server: server.url, databases: [database] };
}

/** Sums over tables; null for those that were not read. */
function countsOf(tables: readonly DataTable[] | null): Pick<DatabaseStatus, "tables" | "views" | "failed_cells"> {
  if (tables === null) return { tables: null, views: null, failed_cells: null };
  const views = tables.filter(({ view_of: base }) => base !== null).length;
  return { tables: tables.length - views, views, failed_cells: countFailed(tables) };
}

function countFailed(tables: readonly DataTable[]): number {
  return tables.reduce((sum, { errors }) => sum + errors, 0);
}
