import type { SqlPool } from "../ports.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import { measured, Timing } from "../timing.ts";
import type { QueryAnswer } from "./final-answer.ts";
import type { RunOptions } from "./pages.ts";
import { PointReads } from "./point-reads.ts";
import type { QueryRunner } from "./query-runner.ts";
import { SharedAnswers } from "./shared-answers.ts";

export type AskOptions = Pick<RunOptions, "signal" | "page" | "timing">;

/** Runs a query for all of its routes: equal requests share a run, reads by key share a statement. */
export interface QueryAsker {
  readonly takes_signal: boolean;
  ask(args: QueryArguments, options?: AskOptions): Promise<QueryAnswer>;
  /** Equal arguments have equal keys. */
  keyOf(args: QueryArguments): string;
  drain(): Promise<void>;
}

/** Makes the asker of a query. */
export function createAsker(sql: SqlPool, runner: QueryRunner): QueryAsker {
  const names = runner.plan.bound.parameters.map(({ name }) => name);
  const keyOf = (args: QueryArguments) => argumentsKey(names, args);
  const shared = new SharedAnswers<QueryAnswer>();
  const askShared: QueryAsker["ask"] = (args, { signal, page, timing } = {}) => {
    const key = page === undefined ? keyOf(args) : `${keyOf(args)} ${JSON.stringify(page)}`;
    if (timing === undefined) return shared.run(key, (all) => runner.run(args, { signal: all, page }), signal);
    // A request that joins another's run spends all its time waiting for PostgreSQL.
    let isOwn = false;
    const start = (all: AbortSignal | undefined) => {
      isOwn = true;
      return runner.run(args, { signal: all, page, timing });
    };
    const joined = new Timing();
    return joined.measure("db", shared.run(key, start, signal)).finally(() => {
      if (!isOwn) timing.db += joined.db;
    });
  };
  const points = PointReads.of(sql, runner);
  if (points === undefined) return { takes_signal: true, ask: askShared, keyOf, drain: async () => undefined };
  return {
    takes_signal: false,
    ask: (args, options) =>
      options?.page === undefined ? measured(options?.timing, "db", points.run(args)) : askShared(args, options),
    keyOf,
    drain: () => points.drain(),
  };
}

/** Equal arguments have equal keys: fixed order, and lengths as separators. */
function argumentsKey(names: readonly string[], args: QueryArguments): string {
  let key = "";
  for (const name of names) {
    const value = args.get(name) ?? null;
    const text = value instanceof Uint8Array ? Buffer.from(value).toString("base64") : String(value);
    key += value === null ? "-;" : `${text.length}:${text};`;
  }
  return key;
}
