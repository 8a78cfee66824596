// Requests at a constant rate, independent of answers to earlier ones, like real traffic.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export interface OpenLoad {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly per_second: number;
  /** Keep-alive connections used in turn; 0 for a new one per request. */
  readonly connections: number;
}

export interface OpenResult {
  readonly answered: number;
  readonly failed: number;
  /** Answer of the first failed request, or how its connection ended. */
  readonly first_failure: string | null;
  /** From a request's scheduled moment, even when no connection was free or the loader was late. */
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly loader_cpu: number;
}

export interface OpenLoop {
  /** Stops sending; resolves when running requests are answered. */
  stop(): Promise<OpenResult>;
}

/** Opens the connections and starts sending, from a separate process. */
export async function startOpenLoop(load: OpenLoad): Promise<OpenLoop> {
  const child: ChildProcess = fork(new URL("./open-loop-process.ts", import.meta.url), { execArgv: process.execArgv });
  child.send(load);
  await once(child, "message");
  return {
    async stop() {
      child.send("stop");
      const [result] = (await once(child, "message")) as [OpenResult];
      child.disconnect();
      return result;
    },
  };
}
