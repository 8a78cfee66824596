import { parseTarget } from "@appdb/contract/names";
import { openData } from "../commands/data/data-target.ts";
import type { Context } from "../context.ts";

/** A table as completion needs it. */
export interface CachedTable {
  /** Within its database. */
  readonly path: string;
  readonly columns: readonly string[];
}

/** Names of databases and their tables for completion. */
export interface TableCache {
  /**
   * The tables of a database, as last read. Reads them now if that never happened, and in the background if they are
   * old. Empty when they cannot be read.
   */
  tables(database: string): Promise<readonly CachedTable[]>;
  /** The local databases. */
  databases(): Promise<readonly string[]>;
  /** Reads what is known again, after a command that can have changed it. */
  refresh(): void;
}

/** Other programs change tables too. */
const OLD_MS = 10_000;

interface Entry<Value> {
  value: Promise<Value>;
  read_at: number;
}

export function createTableCache(ctx: Context, now: () => number = Date.now): TableCache {
  const byDatabase = new Map<string, Entry<readonly CachedTable[]>>();
  let local: Entry<readonly string[]> | undefined;
  /** Starts no daemon: completion alone must not. */
  const readDatabases = async () => {
    const found = await ctx.daemon.find();
    if (found === undefined) return [];
    const { databases } = await found.client.call("databaseList", {}, { signal: ctx.signal });
    return databases.map(({ name }) => name);
  };
  const readTables = async (database: string) => {
    const target = parseTarget(database);
    if (target.kind === "local" && (await ctx.daemon.find()) === undefined) return [];
    const { tables } = await (await openData(ctx, target)).list();
    return tables.map(({ columns, path }) => ({ path, columns: columns.map(({ name }) => name) }));
  };
  const current = <Value>(entry: Entry<readonly Value[]> | undefined, read: () => Promise<readonly Value[]>) => {
    if (entry === undefined) return { value: read().catch(() => []), read_at: now() };
    if (now() - entry.read_at > OLD_MS) replaceWhenRead(entry, read, now());
    return entry;
  };
  return {
    tables: (database) => {
      const entry = current(byDatabase.get(database), () => readTables(database));
      byDatabase.set(database, entry);
      return entry.value;
    },
    databases: () => {
      local = current(local, readDatabases);
      return local.value;
    },
    refresh: () => {
      for (const [database, entry] of byDatabase) replaceWhenRead(entry, () => readTables(database), now());
      if (local !== undefined) replaceWhenRead(local, readDatabases, now());
    },
  };
}

/** The previous value serves until the new one is there, and after an error. */
function replaceWhenRead<Value>(entry: Entry<Value>, read: () => Promise<Value>, now: number): void {
  entry.read_at = now;
  const reading = read();
  reading.then(
    () => {
      entry.value = reading;
    },
    () => undefined,
  );
}
