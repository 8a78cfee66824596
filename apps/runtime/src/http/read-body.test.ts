import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBody } from "./read-body.ts";
import { limitWholeBodies } from "./whole-bodies.ts";

const BODY_BYTES = 200_000;
/** Has room for two bodies. */
const MEMORY_MB = 6.4;
let server: Server;
const clients: Socket[] = [];

beforeEach(async () => {
  const bodies = limitWholeBodies(BODY_BYTES, MEMORY_MB);
  server = createServer((request, response) => {
    const answer = (error: Error | null, body?: string | Buffer, counted?: Disposable) => {
      counted?.[Symbol.dispose]();
      response.end(error?.message ?? `read ${body?.length}`);
    };
    readBody(request, BODY_BYTES, answer, bodies);
    request.once("data", () => server.emit("piece"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const port = () => (server.address() as AddressInfo).port;
const post = async (bytes: number) =>
  await (await fetch(`http://127.0.0.1:${port()}`, { method: "POST", body: "x".repeat(bytes) })).text();

/** Sends a whole body except its last byte. */
async function stall(): Promise<void> {
  const client = connect(port(), "127.0.0.1");
  clients.push(client);
  client.on("error", () => undefined);
  const piece = once(server, "piece");
  client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY_BYTES}\r\n\r\n${"x".repeat(BODY_BYTES - 1)}`);
  await piece;
}

test("bodies that arrive at the same time have a limit, which small bodies do not need", async () => {
  for (let n = 0; n < 6; n++) await stall();
  await expect.poll(() => post(BODY_BYTES)).toContain(`more than ${2 * BODY_BYTES} bytes together`);
  expect(await post(60_000)).toBe("read 60000");
  for (const client of clients.splice(0)) client.destroy();
  await expect.poll(() => post(BODY_BYTES)).toBe(`read ${BODY_BYTES}`);
});
