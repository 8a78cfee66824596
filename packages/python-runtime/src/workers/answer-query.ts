import { AppError } from "@appdb/contract/errors";
import type { FromWorker, ToWorker } from "@appdb/contract/worker-protocol";
import type { Logger, QueryAnswerer } from "@appdb/engine/ports";
import { fromWire } from "./wire-values.ts";

/** Runs a query for a worker and makes the frame of its answer, including errors. */
export async function answerQuery(
  frame: Extract<FromWorker, { t: "query" }>,
  { onQuery, log }: { readonly onQuery?: QueryAnswerer; readonly log: Logger },
): Promise<Extract<ToWorker, { t: "answer" }>> {
  const { ask, query, types } = frame;
  try {
    if (onQuery === undefined) throw new Error("no one answers queries here");
    const args = Object.fromEntries(
      Object.entries(types).map(([name, type]) => [name, fromWire(type, frame.args[name] ?? null)]),
    );
    return { t: "answer", ask, value: await onQuery(query, args), error: null };
  } catch (error) {
    const known = error instanceof AppError ? error : undefined;
    if (known === undefined) log.error({ err: error, query }, "a worker's query failed");
    const message = known?.message ?? "An unexpected error occurred. See the log.";
    return { t: "answer", ask, value: null, error: { code: known?.code ?? "internal_error", message } };
  }
}
