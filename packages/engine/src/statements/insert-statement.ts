import { createHash } from "node:crypto";
import type { SqlStep } from "../compute/plan-compute.ts";
import type { Slot } from "../compute/row-layout.ts";
import { unnestRows } from "../compute/unnest-rows.ts";
import { insertWithStoredResponse } from "../idempotency/stored-responses.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";

export interface InsertShape {
  readonly table: { readonly folder: string; readonly name: string };
  /** Slots with given values, in the order of the array parameters. */
  readonly inputs: readonly Slot[];
  readonly steps: readonly SqlStep[];
  /** Names in the result, the identity first; empty when the row count is enough. */
  readonly returning: readonly Slot[];
  /** The rows get this cell-error object (a parameter). The same statement notifies the fill job. */
  readonly is_pending: boolean;
  /** Each row has its own cell errors, in an array after those of `inputs`. */
  readonly has_errors: boolean;
  /** Omits rows with an existing key. Only these rows are missing from the result. */
  readonly skips_duplicates: boolean;
  /** The responses of requests are stored with the rows. */
  readonly stores_responses: boolean;
}

export interface Prepared {
  readonly text: string;
  readonly name: string;
}

/**
 * Builds one INSERT for many rows. Parameters: an array per given slot (and one of cell errors), then the table's id
 * and version. When pending, the ids of the pending columns and the cell errors follow; those of the responses come
 * last. It writes nothing if the version of the table has changed. The statement reads the version after it locks the
 * table, so no schema change can intervene.
 */
export function buildInsert(shape: InsertShape): Prepared {
  const inputs = shape.has_errors ? [...shape.inputs, ERRORS] : shape.inputs;
  const next = inputs.length;
  const names = [...shape.inputs.map((slot) => slot.name), ...shape.steps.map((step) => step.column)].map(quoteIdent);
  const conditions = [
    `(select v.version from appdb.tables v where v.id = $${next + 1}::bigint) = $${next + 2}::bigint`,
  ];
  const columns = [...names];
  const values = [...names];
  if (shape.is_pending || shape.has_errors) {
    columns.push(ERRORS.name);
    values.push(errorsValue(shape, `$${next + 4}::jsonb`));
  }
  if (shape.is_pending) {
    conditions.push(`(select appdb.mark_pending($${next + 1}::bigint, $${next + 3}::bigint[])) is not null`);
  }
  const lines = [
    `insert into ${quoteTable(shape.table)} as t (${columns.join(", ")})`,
    `select ${values.join(", ")} from ${unnestRows(inputs, shape.steps)}`,
    `where ${conditions.join(" and ")}`,
  ];
  if (shape.skips_duplicates) lines.push("on conflict do nothing");
  if (shape.returning.length > 0) {
    lines.push(`returning ${shape.returning.map(({ name }) => `t.${quoteIdent(name)}`).join(", ")}`);
  }
  const insert = lines.join("\n");
  if (!shape.stores_responses) return prepare(insert);
  const parameters = next + (shape.is_pending ? 4 : 2);
  return prepare(insertWithStoredResponse({ insert, returning: shape.returning, parameters }));
}

/** Builds a COPY of whole rows with their cell errors last. It checks no version; its transaction has already done
 *  so. */
export function buildCopy(table: InsertShape["table"], inputs: readonly Slot[]): string {
  const names = [...inputs.map((slot) => slot.name), ERRORS.name].map(quoteIdent);
  return `copy ${quoteTable(table)} (${names.join(", ")}) from stdin`;
}

/** Allows row writes and blocks table changes until the transaction ends. */
export function buildLock(table: InsertShape["table"]): string {
  return `lock table ${quoteTable(table)} in row exclusive mode`;
}

/** The version of a table. Parameter: its id. */
export const TABLE_VERSION = {
  name: "table_version",
  text: "select version from appdb.tables where id = $1::bigint",
} as const;

/** Notifies the job that computes pending cells. Parameters: the table's id, and the ids of the columns. */
export const MARK_PENDING = "select appdb.mark_pending($1::bigint, $2::bigint[])";

/** The column of the cell errors. JSON in an array keeps its text. */
const ERRORS = { name: "_errors", type: JSON_TYPE } as const;

/** A job recomputes a pending cell, so an error that this service found for it does not count. */
function errorsValue({ is_pending: isPending, has_errors: hasErrors }: InsertShape, pending: string): string {
  if (!hasErrors) return pending;
  return isPending ? `coalesce(${ERRORS.name}::jsonb, '{}') || ${pending}` : ERRORS.name;
}

/** Computes without storing. Parameters as above, without table and version. The result has row numbers from 1. */
export function buildCompute(inputs: readonly Slot[], steps: readonly SqlStep[]): Prepared {
  const names = steps.map((step) => quoteIdent(step.column));
  return prepare(`select ${['"#row"', ...names].join(", ")} from ${unnestRows(inputs, steps, '"#row"')}`);
}

/** Equal texts have equal names, so a connection prepares each text once. */
export function prepare(text: string): Prepared {
  return { text, name: createHash("sha256").update(text).digest("hex").slice(0, 32) };
}
