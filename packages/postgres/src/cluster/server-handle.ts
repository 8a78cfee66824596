import type { ChildProcess } from "node:child_process";

/** Signals of PostgreSQL: fast shutdown, immediate shutdown, and kill. */
export type ServerSignal = "SIGINT" | "SIGQUIT" | "SIGKILL";

/** How a server ended, for the log. */
export interface ServerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A server started by this process. */
export interface ServerHandle {
  readonly pid: number | undefined;
  /** Undefined while it runs. */
  readonly end: ServerEnd | undefined;
  readonly ended: Promise<ServerEnd>;
  /** Sends a signal; does nothing after the end. */
  signal(signal: ServerSignal): void;
}

/** A server that is our direct child process. */
export function childHandle(child: ChildProcess): ServerHandle {
  const end = (): ServerEnd | undefined => {
    const { exitCode: code, pid, signalCode: signal } = child;
    return code !== null || signal !== null || pid === undefined ? { code, signal } : undefined;
  };
  const ended = new Promise<ServerEnd>((resolve) => {
    const found = end();
    if (found !== undefined) resolve(found);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: child.pid,
    get end() {
      return end();
    },
    ended,
    signal: (signal) => void child.kill(signal),
  };
}
