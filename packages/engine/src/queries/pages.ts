import { appError } from "@appdb/contract/errors";
import type { QueryPlan, RowMarks } from "../query-plans/query-plan.ts";
import type { Timing } from "../timing.ts";

/** A page of a query's rows. */
export interface PageOf {
  readonly size: number;
  /** The last row of the page before; null for the first page. */
  readonly after: PagePosition | null;
}

export interface PagePosition {
  /** What rows are sorted by, as PostgreSQL writes it; the row's identity last. */
  readonly keys: readonly (string | null)[];
  /** Rows that the pages up to there have given: the query's own limit counts them. */
  readonly given: number;
}

/** How a query is run. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
  /** A part of the rows, in place of all. */
  readonly page?: PageOf | undefined;
  /** Rows come one by one with their identities (`QueryAnswer.rows`). */
  readonly is_identified?: boolean;
}

/** What marks the rows of a run. */
export function marksOf(options: Pick<RunOptions, "page" | "is_identified">): RowMarks | undefined {
  const { page, is_identified: isIdentified } = options;
  if (page !== undefined) return { by: "place", after: page.after?.keys.map((key) => key === null) ?? null };
  return isIdentified ? { by: "identity" } : undefined;
}

/** @throws not_pageable for a query whose rows one statement over tables does not give in an order that it can go on in */
export function refuseUnpageable(query: string, plan: QueryPlan): void {
  const why = findObstacle(plan);
  if (why === undefined) return;
  throw appError("not_pageable", {
    detail: `The query ${query} cannot be read in pages: ${why}.`,
    hint: "Leave page_size= out, or give the query its own limit= and offset= parameters.",
    meta: { query },
  });
}

function findObstacle({ bound, materials, final, reasons }: QueryPlan): string | undefined {
  const { query } = bound;
  if (query.sample !== null) return "it draws its rows, and each page would draw others";
  if (query.tail !== null) return "it takes the last rows of its order, and which those are changes from page to page";
  if (query.distinct) return "it removes equal rows, so the next page has no row to start after";
  if (materials.length === 0) return final.marks === 0 ? "all its rows are one group" : undefined;
  const [reason] = reasons;
  const why = reason === undefined ? "" : ` (${reason.why})`;
  return `its rows are read whole before they are filtered, sorted or grouped${why}`;
}
