import { changedTables, type TableChange } from "@appdb/contract/routes/table-changes";
import type { SqlConnection } from "../ports.ts";

interface Begun {
  /** The path within the database. */
  readonly table: string;
  readonly jobs: readonly string[];
}

/**
 * The tables and views of one database that are being created, as long as this process watches their jobs. When a job
 * has failed or was cancelled, the table still exists until its creation is undone.
 */
export class Creations {
  readonly #begun = new Set<Begun>();

  /** Returns what ends it. */
  begin(creation: Begun): () => void {
    this.#begun.add(creation);
    return () => void this.#begun.delete(creation);
  }

  /** Whether a change names a table whose jobs have ended, and whose creation has not. */
  async areEnding(sql: SqlConnection, change: TableChange): Promise<boolean> {
    const named = new Set(changedTables(change));
    for (const { jobs, table } of this.#begun) {
      if (!named.has(table)) continue;
      const { rows } = await sql.query({
        text: `select not exists (select from appdb.jobs where id = any($1::uuid[]) and state in ('queued', 'running'))`,
        values: [[...jobs]],
      });
      if (rows[0]?.[0] === "t") return true;
    }
    return false;
  }
}
