import { once } from "node:events";
import { createServer, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import fastify from "fastify";
import { expect, test } from "vitest";
import { endOf, mountRoute, wasLeft } from "./mount-api.ts";

test("reports no failure when a client leaves a streamed response", async () => {
  const app = fastify();
  const failures: unknown[] = [];
  app.addHook("onError", async (_request, _reply, error) => void failures.push(error));
  const route = { method: "GET", path: "/rows" } as const;
  app.route(
    mountRoute(route, { parse: (_schema, value) => value, finish: () => undefined }, async ({ reply }) => {
      const body = new Readable({ read() {} });
      body.push("row\n");
      await (reply as { send(body: Readable): PromiseLike<unknown> }).send(body);
    }) as never,
  );
  const handled = new Promise<void>((resolve) => app.addHook("onRequestAbort", async (_request) => resolve()));
  await app.listen({ port: 0, host: "127.0.0.1" });
  try {
    const sent = request({ port: (app.server.address() as AddressInfo).port, path: "/rows" }).end();
    const [response] = (await once(sent, "response")) as [Readable];
    await once(response, "data");
    sent.destroy();
    await handled;
    await new Promise((resolve) => setImmediate(resolve));
    await app.close();
    expect(failures).toEqual([]);
  } finally {
    await app.close();
  }
});

test("a client that left before its signal was made is noticed at once", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const [, raw] = (await once(server, "request")) as [unknown, ServerResponse];
  const early = endOf({ raw });
  expect(early.aborted).toBe(false);
  client.resetAndDestroy();
  await once(raw, "close");
  expect(early.aborted).toBe(true);
  expect(endOf({ raw }).aborted).toBe(true);
  server.close();
});

test("a cut body means that the client left, also as a cause", () => {
  const cut = Object.assign(new Error("aborted"), { code: "ECONNRESET" });
  const tunnel = new Error("The database does not answer.", { cause: cut });
  expect([cut, tunnel].map((error) => wasLeft({ raw: { destroyed: true } }, error))).toEqual([true, true]);
  expect(wasLeft({ raw: { destroyed: false } }, tunnel)).toBe(false);
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  expect(wasLeft({ raw: { destroyed: true } }, reset)).toBe(false);
});
