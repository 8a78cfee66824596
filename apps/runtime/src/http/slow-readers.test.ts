import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createConnection, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, expect, test } from "vitest";
import { type Sending, sendAnswer } from "./send-answer.ts";

const PATIENCE_MS = 30;
const PIECE = "x".repeat(100_000);

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

interface Sent {
  readonly client: Socket;
  readonly response: ServerResponse;
  /** Settles when the answer was sent, or the client is gone. */
  readonly sent: Promise<void>;
}

/** Sends a stream to a client that reads nothing. */
async function send(body: AsyncIterable<string>, isEndless: boolean, more: Partial<Sending> = {}): Promise<Sent> {
  server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
  client.pause();
  client.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  const [request, response] = await once(server, "request");
  const draining = new AbortController().signal;
  const sending = {
    request,
    response,
    id: "r",
    log: createSilentLog(),
    cors: null,
    draining,
    patience_ms: PATIENCE_MS,
    ...more,
  };
  const sent = sendAnswer(sending, { status: 200, headers: {}, is_endless: isEndless, body });
  return { client, response, sent };
}

test("drops a client that reads nothing of an endless stream", async () => {
  let hasEnded = false;
  async function* endless() {
    try {
      for (;;) yield PIECE;
    } finally {
      hasEnded = true;
    }
  }
  const { client, response, sent } = await send(endless(), true);
  await sent;
  expect([response.destroyed, hasEnded]).toEqual([true, true]);
  client.destroy();
});

test("drops a client that takes nothing of a finite answer for long", async () => {
  let hasEnded = false;
  async function* pieces() {
    try {
      for (let n = 0; n < 200; n++) yield PIECE;
    } finally {
      hasEnded = true;
    }
  }
  const { client, response, sent } = await send(pieces(), false, { stalled_ms: PATIENCE_MS });
  await sent;
  expect([response.destroyed, hasEnded]).toEqual([true, true]);
  client.destroy();
});

test("a client may read a finite answer slowly", async () => {
  async function* pieces() {
    for (let n = 0; n < 200; n++) yield PIECE;
  }
  const { client, response, sent } = await send(pieces(), false);
  // several times the timeout, which does not apply here
  await sleep(PATIENCE_MS * 5);
  expect([response.destroyed, response.writableEnded]).toEqual([false, false]);
  let bytes = 0;
  client.on("data", (data) => {
    bytes += data.length;
  });
  client.resume();
  await Promise.all([sent, once(client, "close")]);
  expect(bytes).toBeGreaterThan(200 * PIECE.length);
});
