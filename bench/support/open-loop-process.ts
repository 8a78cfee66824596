// The process of open-loop.ts: sends by the clock and measures from a request's scheduled moment.
import type { Socket } from "node:net";
import type { OpenLoad, OpenResult } from "./open-loop.ts";
import { answerLength, connectTo, written } from "./raw-http.ts";

/** Machines accept a limited number of new connections at a time. */
const OPENED_AT_ONCE = 100;
const TICK_MS = 1;
const SAID = 500;

let loop: { stop(): Promise<OpenResult> } | undefined;
process.on("message", async (message: OpenLoad | "stop") => {
  if (message !== "stop") {
    loop = await begin(message);
    process.send?.("begun");
  } else {
    process.send?.(await loop?.stop());
  }
});

interface Connection {
  readonly socket: Socket;
  /** Scheduled moment of the running request. */
  due: number | undefined;
  pending: string;
}

async function begin(load: OpenLoad): Promise<{ stop(): Promise<OpenResult> }> {
  const url = new URL(load.url);
  const request = written(url, load.body, load);
  const free: Connection[] = [];
  /** Scheduled moments of requests without a free connection. */
  const waiting: number[] = [];
  const times: number[] = [];
  let [sent, failed, underWay] = [0, 0, 0];
  let firstFailure: string | null = null;
  let onQuiet = () => {};

  const settle = (connection: Connection, failure?: string) => {
    if (connection.due === undefined) return;
    times.push(performance.now() - connection.due);
    connection.due = undefined;
    underWay -= 1;
    if (failure !== undefined) {
      failed += 1;
      firstFailure ??= failure.slice(0, SAID);
    }
    if (underWay === 0 && waiting.length === 0) onQuiet();
  };
  const send = (connection: Connection, due: number) => {
    connection.due = due;
    underWay += 1;
    connection.socket.write(request);
  };
  const release = (connection: Connection) => {
    const due = waiting.shift();
    if (load.connections === 0) connection.socket.destroy();
    else if (due === undefined) free.push(connection);
    else send(connection, due);
  };
  const open = (due?: number): Promise<void> => {
    const connection: Connection = { socket: connectTo(url, undefined), due, pending: "" };
    const { socket } = connection;
    if (due !== undefined) underWay += 1;
    socket.on("data", (chunk) => {
      connection.pending += chunk.toString("latin1");
      const length = answerLength(connection.pending);
      if (length === undefined || connection.pending.length < length) return;
      const isGood = connection.pending.startsWith("HTTP/1.1 200");
      settle(connection, isGood ? undefined : connection.pending);
      connection.pending = "";
      release(connection);
    });
    return new Promise((resolve) => {
      socket.once("connect", () => {
        if (due !== undefined) socket.write(request);
        else release(connection);
        resolve();
      });
      socket.on("error", (error) => settle(connection, error.message));
      socket.on("close", () => {
        settle(connection, "the connection was closed before the answer");
        const at = free.indexOf(connection);
        if (at >= 0) free.splice(at, 1);
        // a server may close an idle keep-alive connection
        if (load.connections > 0 && !isOver) void open();
        resolve();
      });
    });
  };
  let isOver = false;
  for (let made = 0; made < load.connections; made += OPENED_AT_ONCE) {
    const some = Math.min(OPENED_AT_ONCE, load.connections - made);
    await Promise.all(Array.from({ length: some }, () => open()));
  }

  const began = performance.now();
  const cpu = process.cpuUsage();
  const timer = setInterval(() => {
    const dueByNow = ((performance.now() - began) * load.per_second) / 1_000;
    for (; sent < dueByNow; sent += 1) {
      const due = began + (sent * 1_000) / load.per_second;
      const connection = free.shift();
      if (load.connections === 0) void open(due);
      else if (connection === undefined) waiting.push(due);
      else send(connection, due);
    }
  }, TICK_MS);
  return {
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - began) / 1_000;
      const used = process.cpuUsage(cpu);
      if (underWay + waiting.length > 0) await new Promise<void>((resolve) => (onQuiet = resolve));
      isOver = true;
      for (const { socket } of free) socket.destroy();
      times.sort((a, b) => a - b);
      return {
        answered: times.length - failed,
        failed,
        first_failure: firstFailure,
        p50_ms: times[Math.floor(times.length * 0.5)] ?? Number.NaN,
        p99_ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
        loader_cpu: (used.user + used.system) / 1e6 / seconds,
      };
    },
  };
}
