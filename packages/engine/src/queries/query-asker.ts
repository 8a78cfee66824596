import type { SqlPool } from "../ports.ts";
import { PointReads } from "./point-reads.ts";
import type { QueryArguments } from "./python-rows.ts";
import type { QueryAnswer, QueryRunner } from "./query-runner.ts";
import { SharedAnswers } from "./shared-answers.ts";

/** How a query is asked by all of its routes: equal requests share a run, reads by key a statement. */
export interface QueryAsker {
  readonly takes_signal: boolean;
  ask(args: QueryArguments, signal?: AbortSignal): Promise<QueryAnswer>;
  drain(): Promise<void>;
}

/** Makes the asker of a query. */
export function createAsker(sql: SqlPool, runner: QueryRunner): QueryAsker {
  const points = PointReads.of(sql, runner);
  if (points !== undefined) {
    return { takes_signal: false, ask: (args) => points.run(args), drain: () => points.drain() };
  }
  const shared = new SharedAnswers<QueryAnswer>();
  const names = runner.plan.bound.parameters.map(({ name }) => name);
  return {
    takes_signal: true,
    ask: (args, signal) => shared.run(keyOf(names, args), (all) => runner.run(args, all), signal),
    drain: async () => undefined,
  };
}

/** Equal arguments have equal keys: one order, and lengths that keep values apart from one another. */
function keyOf(names: readonly string[], args: QueryArguments): string {
  let key = "";
  for (const name of names) {
    const value = args.get(name) ?? null;
    const text = value instanceof Uint8Array ? Buffer.from(value).toString("base64") : String(value);
    key += value === null ? "-;" : `${text.length}:${text};`;
  }
  return key;
}
