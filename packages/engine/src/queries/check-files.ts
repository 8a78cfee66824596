import { createHash } from "node:crypto";
import type { ManifestParameter } from "@appdb/contract/manifest";
import { checkStep } from "../compute/plan-compute.ts";
import { fileError } from "../compute/run-graph.ts";
import { isMedia } from "../kinds/media.ts";
import type { UdfGraph, UdfRunner } from "../ports.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import { measured, type Timing } from "../timing.ts";

export interface CheckOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
}

/** Decodes the files among a request's arguments. @throws media_invalid, media_unreachable and others, worker_unavailable */
export type CheckFiles = (args: QueryArguments, options: CheckOptions) => Promise<QueryArguments>;

/**
 * Compiles the check of a query's parameters; undefined when none is a file. A file is decoded once, before any row is
 * read: SQL then knows its size, and an invalid file is an error of the request instead of a row's.
 */
export function compileFileChecks(
  query: string,
  parameters: readonly ManifestParameter[],
  udf: () => UdfRunner,
): CheckFiles | undefined {
  const files = parameters.filter(({ type }) => isMedia(type.kind));
  if (files.length === 0) return undefined;
  const graph = checkGraph(files);
  return async (args, { signal, timing }) => {
    const given = files.map(({ name }) => args.get(name) ?? null);
    if (given.every((value) => value === null)) return args;
    const { values, errors } = await measured(timing, "py", udf().run(graph, given, signal), graph.functions);
    for (const { name, type } of files) {
      const error = errors?.[name];
      if (error === undefined) continue;
      throw fileError(error, {
        of: name,
        kind: type.kind,
        hint: "Send another file.",
        meta: { query, parameter: name },
      });
    }
    return new Map([...args, ...files.map(({ name }, at) => [name, values[at] ?? null] as const)]);
  };
}

function checkGraph(files: readonly ManifestParameter[]): UdfGraph {
  const columns = files.map(({ name, type }) => ({ name, type, nullable: true }));
  const steps = columns.map(checkStep);
  const key = createHash("sha256")
    .update(JSON.stringify([columns, steps]))
    .digest("hex");
  return { key, inputs: columns, steps, functions: [] };
}
