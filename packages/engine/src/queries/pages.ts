import { appError } from "@appdb/contract/errors";
import type { EngineValue } from "@appdb/contract/types";
import type { QueryPlan, RowMarks } from "../query-plans/query-plan.ts";
import type { Timing } from "../timing.ts";

/** A page of a query's rows. */
export interface PageOf {
  readonly size: number;
  /** The last row of the previous page; null for the first page. */
  readonly after: PagePosition | null;
}

export interface PagePosition {
  /** The sort values of a row as PostgreSQL writes them; the row's identity last. */
  readonly keys: readonly (string | null)[];
  /** Rows of all pages so far, for the query's own limit. */
  readonly returned: number;
}

/** How a query is run. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
  /** Returns a part of the rows. */
  readonly page?: PageOf | undefined;
  /** Rows are returned one by one with their identities (`QueryAnswer.rows`). */
  readonly is_identified?: boolean;
  /** Also takes the values of each row, in the order of the outputs. */
  readonly take_values?: ((values: readonly EngineValue[]) => void) | undefined;
}

/** The marks on the rows of a run. */
export function rowMarksOf(options: Pick<RunOptions, "page" | "is_identified">): RowMarks | undefined {
  const { page, is_identified: isIdentified } = options;
  if (page !== undefined) return { by: "place", after: page.after?.keys.map((key) => key === null) ?? null };
  return isIdentified ? { by: "identity" } : undefined;
}

/** @throws not_pageable for a query that does not read its rows with one statement in a resumable order */
export function refuseUnpageable(query: string, plan: QueryPlan): void {
  const reason = findObstacle(plan);
  if (reason === undefined) return;
  throw appError("not_pageable", {
    detail: `The query ${query} cannot be read in pages: ${reason}.`,
    hint: "Omit page_size=, or give the query its own limit= and offset= parameters.",
    meta: { query },
  });
}

function findObstacle({ bound, materials, final, reasons }: QueryPlan): string | undefined {
  const { query } = bound;
  if (query.sample !== null) return "it samples its rows, and each page would have another sample";
  if (query.tail !== null) return "it takes the last rows of its order, which change from page to page";
  if (query.distinct) return "it removes equal rows, so the next page has no row to start after";
  if (materials.length === 0) return final.marks === 0 ? "all its rows are one group" : undefined;
  const [reason] = reasons;
  const suffix = reason === undefined ? "" : ` (${reason.reason})`;
  return `its rows are read whole before they are filtered, sorted or grouped${suffix}`;
}
