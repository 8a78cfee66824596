import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Tenant } from "./attack-target.ts";

/** Results of requests at a constant rate. Times are measured from the scheduled moment of a request. */
export interface LoadResult {
  readonly answered: number;
  readonly failed: number;
  readonly first_failure: string | null;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

const PROGRAM = fileURLToPath(new URL("../../../bench/support/open-loop-process.ts", import.meta.url));
const SERVICE_PER_SECOND = 20;
const CONTROL_PER_SECOND = 5;
const CONNECTIONS = 8;

/** Requests of an organization to its service and to the control plane, from separate processes. */
export async function startVictimLoad({ key, tools }: Tenant, serverUrl: string) {
  const loops = await Promise.all([
    startLoop(`${tools}/docs`, key, SERVICE_PER_SECOND, { title: "a row" }),
    startLoop(`${serverUrl}/v1/orgs/victim/blobs/missing`, key, CONTROL_PER_SECOND, { digests: [] }),
  ]);
  return {
    async stop(): Promise<{ readonly service: LoadResult; readonly control: LoadResult }> {
      const [service, control] = await Promise.all(loops.map(stopLoop));
      if (service === undefined || control === undefined) throw new Error("a loader ended early");
      return { service, control };
    },
  };
}

async function startLoop(url: string, key: string, perSecond: number, body: object): Promise<ChildProcess> {
  const child = fork(PROGRAM, { execArgv: ["--conditions=source", "--import", "tsx"] });
  const headers = { "x-api-key": key, "content-type": "application/json" };
  child.send({ url, headers, per_second: perSecond, body: JSON.stringify(body), connections: CONNECTIONS });
  await once(child, "message");
  return child;
}

async function stopLoop(child: ChildProcess): Promise<LoadResult> {
  child.send("stop");
  const [result] = (await once(child, "message")) as [LoadResult];
  child.disconnect();
  return result;
}
