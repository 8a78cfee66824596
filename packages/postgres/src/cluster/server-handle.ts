import type { ChildProcess } from "node:child_process";

/** What PostgreSQL understands: fast shutdown, immediate shutdown, and none. */
export type ServerSignal = "SIGINT" | "SIGQUIT" | "SIGKILL";

/** How a server ended, for the log. */
export interface ServerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A server that was started here. */
export interface ServerHandle {
  readonly pid: number | undefined;
  /** Undefined while it runs. */
  readonly end: ServerEnd | undefined;
  readonly ended: Promise<ServerEnd>;
  /** Tells it to end; nothing where it has ended. */
  signal(signal: ServerSignal): void;
}

/** A server that is our direct child. */
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
