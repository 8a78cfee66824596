// The loader for machines without wrk: raw sockets, prepared requests, answers counted by their length.
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { Load, LoadResult } from "./load.ts";
import { answerLength, connectTo, written } from "./raw-http.ts";

process.on("message", async (load: Load) => {
  process.send?.(await drive(load));
});

async function drive(load: Load): Promise<LoadResult> {
  const url = new URL(load.url);
  const requests = (typeof load.body === "string" ? [load.body] : load.body).map((body) => written(url, body, load));
  const beside = load.beside === undefined ? undefined : written(url, load.beside.body, load);
  const keys = load.with_keys === true ? randomUUID() : undefined;
  const apart = new Set<Socket>();
  let asked = 0;
  const times: number[] = [];
  let failed = 0;
  const began = performance.now();
  const end = began + load.seconds * 1000;
  const cpu = process.cpuUsage();
  await Promise.all(Array.from({ length: load.connections }, () => converse()));
  for (const socket of apart) socket.destroy();
  const used = process.cpuUsage(cpu);
  const seconds = (performance.now() - began) / 1000;
  times.sort((a, b) => a - b);
  return {
    per_second: (times.length - failed) / seconds,
    p50_ms: times[Math.floor(times.length * 0.5)] ?? Number.NaN,
    p99_ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
    failed,
    loader_cpu: (used.user + used.system) / 1e6 / seconds,
  };

  function sendApart(bytes: Buffer): void {
    const socket = connectTo(url, load.socket).once("connect", () => socket.write(bytes));
    apart.add(socket);
    socket.on("data", (chunk) => {
      if (!chunk.toString("latin1").startsWith("HTTP/1.1 200")) failed += 1;
      socket.destroy();
    });
    socket.on("error", () => {
      failed += 1;
    });
    socket.on("close", () => apart.delete(socket));
  }

  function converse(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connectTo(url, load.socket);
      let sent = 0;
      let pending = "";
      const ask = () => {
        sent = performance.now();
        asked += 1;
        if (beside !== undefined && asked % (load.beside?.one_in ?? 1) === 0) sendApart(beside);
        const request = requests[asked % requests.length] ?? EMPTY;
        socket.write(keys === undefined ? request : withKey(request, `${keys}-${asked}`));
      };
      socket.on("connect", ask);
      socket.on("error", reject);
      socket.on("close", () => resolve());
      socket.on("data", (chunk) => {
        pending += chunk.toString("latin1");
        const length = answerLength(pending);
        if (length === undefined || pending.length < length) return;
        times.push(performance.now() - sent);
        if (!pending.startsWith("HTTP/1.1 200")) failed += 1;
        pending = pending.slice(length);
        if (performance.now() < end) ask();
        else socket.destroy();
      });
    });
  }
}

const EMPTY = Buffer.alloc(0);

/** Inserts the header after the request's first line. */
function withKey(request: Buffer, key: string): Buffer {
  const end = request.indexOf("\r\n");
  return Buffer.concat([request.subarray(0, end), Buffer.from(`\r\nidempotency-key: ${key}`), request.subarray(end)]);
}
