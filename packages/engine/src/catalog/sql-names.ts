import { createHash } from "node:crypto";
import type { EmbeddingOptions } from "./catalog.ts";

/**
 * Names of what belongs to a table in PostgreSQL. Tables and indexes share one name space there; a dot or a bracket
 * cannot stand in a table's name, so none of these can ever collide with a table.
 */
const LONGEST_SQL_NAME = 63;

/** The unique index of the user's key: a unique violation names it. Absent for a table keyed by one uuid7() column. */
export function keyIndexName(table: string): string {
  return fit(`${table}.key`);
}

/** The PostgreSQL primary key, over the identity column; for a table keyed by one uuid7() column this is the key. */
export function identityIndexName(table: string): string {
  return fit(`${table}.pkey`);
}

/** The rows with cell errors, which are few: counting them reads nothing else. */
export function errorsIndexName(table: string): string {
  return fit(`${table}.errors`);
}

/** A secondary index: `docs.idx.by_title` when named, `docs(title,body)` when not. One of vectors is called after what it
 *  holds, `docs(_embedding_title).cosine`: the former one may stand beside it. */
export function indexName(
  table: string,
  index: { name: string | null; columns: readonly string[]; embedding?: EmbeddingOptions | null },
): string {
  if (index.embedding != null) {
    const { values, metric, precision } = index.embedding;
    const own = index.name === null ? "" : `.${index.name}`;
    return fit(
      `${table}(${values ?? index.columns.join(",")})${own}.${values === null ? `${precision}.` : ""}${metric}`,
    );
  }
  return fit(index.name === null ? `${table}(${index.columns.join(",")})` : `${table}.idx.${index.name}`);
}

/** The table, quoted, that keeps former values while a job runs that may have to give them back. */
export function undoTable(jobId: string): string {
  return `appdb."undo ${jobId}"`;
}

/** PostgreSQL would cut longer names silently, and two of them could become one. */
function fit(name: string): string {
  if (Buffer.byteLength(name) <= LONGEST_SQL_NAME) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${name.slice(0, LONGEST_SQL_NAME - digest.length - 1)}~${digest}`;
}
