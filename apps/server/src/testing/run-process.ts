import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { builtProgram } from "@appdb/testkit/built-programs";

const PATIENCE_MS = 20_000;

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  /** The output so far. */
  output(): string;
  /** Resolves with the match of the expression in the output. Throws if the process ends first. */
  printed(expression: RegExp): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code. Null after a signal. */
  ended(): Promise<number | null>;
}

/** Runs the server's program in its own process. */
export function runProcess(env: Readonly<Record<string, string>>, args: readonly string[] = []): ServerProcess {
  const child: ChildProcess = spawn(process.execPath, [builtProgram("server"), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const listeners = new Set<() => void>();
  const heard = (chunk: Buffer) => {
    output += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout?.on("data", heard);
  child.stderr?.on("data", heard);
  // "close" comes after its output was read
  const closed = once(child, "close").then(([code]) => code as number | null);
  return {
    pid: child.pid ?? 0,
    output: () => output,
    printed: (expression) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = expression.exec(output);
          if (found === null) return;
          listeners.delete(look);
          resolve(found[1] ?? found[0]);
        };
        listeners.add(look);
        look();
        void closed.then(() => {
          look();
          reject(new Error(`The server ended:\n${output}`));
        });
      }),
    kill: (signal) => void child.kill(signal),
    ended: () => closed,
    [Symbol.asyncDispose]: async () => {
      // a clean stop, so that its pods end too
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
      await closed;
      clearTimeout(late);
    },
  };
}
