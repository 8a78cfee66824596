import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError } from "@appdb/contract/errors";
import type { ControlRouteName } from "@appdb/contract/routes/control-paths";
import { waitForOperation } from "./wait-for-operation.ts";

/** Requests that need an awake database and come from a user's command. */
const WAKING: ReadonlySet<ControlRouteName> = new Set<ControlRouteName>([
  ...(["schemaPlan", "schemaApply", "servicePlan", "serviceUpdate", "servicePrune", "serviceRestart"] as const),
  ...(["serviceRollbackPlan", "serviceRollback", "deployRollbackPlan", "deployRollback", "preparationBegin"] as const),
  ...(["psqlRead", "psqlWrite"] as const),
  ...(["mediaList", "mediaUsage", "mediaRemove", "mediaPrune", "mediaRead", "mediaWrite"] as const),
  ...([
    "errorList",
    "recomputePlan",
    "recompute",
    "jobList",
    "jobCancel",
    "databaseRestart",
    "databaseBuildImage",
  ] as const),
]);

export interface WakeDeps {
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

interface Place {
  readonly org: string;
  readonly db: string;
}

/**
 * A client that starts a database which went to sleep automatically when a request needs it, then retries the request.
 */
export function wakingClient(client: ControlClient, deps: WakeDeps): ControlClient {
  const isStarted = async (name: ControlRouteName, input: unknown, error: unknown): Promise<boolean> => {
    const params = (input as { params?: Partial<Place> } | undefined)?.params;
    if (!WAKING.has(name) || !isAsleep(error) || params?.org === undefined || params.db === undefined) return false;
    return await startSleeping(client, { org: params.org, db: params.db }, deps);
  };
  return {
    ...client,
    call: async (name, input, options) => {
      try {
        return await client.call(name, input, options);
      } catch (error) {
        if (await isStarted(name, input, error)) return await client.call(name, input, options);
        throw error;
      }
    },
    lines: async function* (name, input, signal) {
      let isBegun = false;
      try {
        for await (const line of client.lines(name, input, signal)) {
          isBegun = true;
          yield line;
        }
      } catch (error) {
        if (isBegun || !(await isStarted(name, input, error))) throw error;
        yield* client.lines(name, input, signal);
      }
    },
  };
}

/**
 * Starts a database that is STOPPED and sleeps automatically. A database without automatic sleep was stopped by a user
 * and stays stopped.
 * @throws the error of the start; interrupted
 */
export async function startSleeping(
  client: ControlClient,
  params: Place,
  { note, signal }: WakeDeps,
): Promise<boolean> {
  const { sleep_after: sleepAfter, state, uri } = await client.call("databaseShow", { params }, { signal });
  if (state !== "STOPPED" || sleepAfter === "never") return false;
  note(`${uri} is sleeping and is started.`);
  const { operation } = await client.call("databaseStart", { params }, { signal });
  if (operation !== null) await waitForOperation(client, { org: params.org, id: operation.id, signal });
  return true;
}

function isAsleep(error: unknown): boolean {
  return error instanceof AppError && error.code === "database_not_available" && error.meta["state"] === "STOPPED";
}
