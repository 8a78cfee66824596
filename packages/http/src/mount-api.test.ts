import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, test } from "vitest";
import { endOf } from "./mount-api.ts";

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
