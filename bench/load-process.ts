// The loader for machines without wrk: raw sockets, prepared requests, answers counted by their length.
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { Load, LoadResult } from "./load.ts";

process.on("message", async (load: Load) => {
  process.send?.(await drive(load));
});

async function drive(load: Load): Promise<LoadResult> {
  const url = new URL(load.url);
  const requests = (typeof load.body === "string" ? [load.body] : load.body).map((body) =>
    written(url, body, load.get_with),
  );
  const beside = load.beside === undefined ? undefined : written(url, load.beside.body);
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
    const socket = connect(Number(url.port), url.hostname, () => socket.write(bytes));
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
      const socket = connect(Number(url.port), url.hostname);
      socket.setNoDelay(true);
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

/** Puts the header behind the request's first line. */
function withKey(request: Buffer, key: string): Buffer {
  const end = request.indexOf("\r\n");
  return Buffer.concat([request.subarray(0, end), Buffer.from(`\r\nidempotency-key: ${key}`), request.subarray(end)]);
}

function written(url: URL, body: string, get_with?: Load["get_with"]): Buffer {
  if (get_with !== undefined) {
    const headers = Object.entries(get_with).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${headers.join("")}\r\n`);
  }
  return Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function answerLength(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head));
  if (length === null) throw new Error("an answer without a content-length cannot be counted");
  return head + 4 + Number(length[1]);
}
