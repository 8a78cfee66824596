// Requests that come at a constant rate whether those before them were answered or not, as the world sends them.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export interface OpenLoad {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly per_second: number;
  /** That are kept, and take turns; 0 for a new one with each request. */
  readonly connections: number;
}

export interface OpenResult {
  readonly answered: number;
  readonly failed: number;
  /** What the first that failed was answered, or how its connection ended. */
  readonly first_failure: string | null;
  /** From the moment at which a request was due, also when no connection was free for it or the loader was late. */
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly loader_cpu: number;
}

export interface OpenLoop {
  /** No further requests; resolves when those under way were answered. */
  stop(): Promise<OpenResult>;
}

/** Opens the connections and begins to send, from a process of its own. */
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
