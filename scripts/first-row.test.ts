import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { insertFirstRow } from "./lib/first-row.mjs";

/** A service that gives these statuses in turn, the last one for ever. */
async function startService(statuses: readonly number[]) {
  let asked = 0;
  const server = createServer((_req, res) => {
    const status = statuses[Math.min(asked, statuses.length - 1)] ?? 500;
    asked += 1;
    res.writeHead(status).end(`status ${status}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const insert = (came = () => false, forMs = 60_000) =>
    insertFirstRow(
      { endpoint, key: "k", service: "cloud://demo:main/ingest", interrupted: { came } },
      { for_ms: forMs, ms: 1 },
    );
  return { insert, asked: () => asked, [Symbol.dispose]: () => void server.close() };
}

test("the first row is sent again while the service is unavailable", async () => {
  using service = await startService([503, 503, 200]);
  expect(await service.insert()).toBe("status 200");
  expect(service.asked()).toBe(3);
});

test("another refusal, or one that lasts, ends the start", async () => {
  using refusing = await startService([422]);
  await expect(refusing.insert()).rejects.toThrow("The first row was refused: status 422");
  expect(refusing.asked()).toBe(1);
  using away = await startService([503]);
  await expect(away.insert(undefined, 0)).rejects.toThrow("The first row was refused: status 503");
  expect(away.asked()).toBeGreaterThan(0);
  using stopped = await startService([503]);
  expect(await stopped.insert(() => true)).toBeUndefined();
});
