import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { eventually } from "@appdb/testkit/eventually";
import { fastify } from "fastify";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addBodyTime } from "./body-time.ts";

const TIME_MS = 200;
let port: number;
/** Bytes that `/pieces` has read. */
let taken: number;
const app = () => {
  const made = fastify();
  addBodyTime(made, TIME_MS);
  made.post("/whole", { config: { control: "orgCreate" } }, async ({ body }) => body);
  made.addContentTypeParser("application/x-tar", (_request, _payload, done) => done(null));
  made.put("/pieces", { config: { control: "blobUpload" } }, async ({ raw }) => {
    for await (const piece of raw) taken += (piece as Buffer).length;
    return { bytes: taken };
  });
  made.put("/unread", { config: { control: "blobUpload" } }, (_request, reply) => {
    void reply.send(Readable.from(Array.from({ length: 1_000 }, () => Buffer.alloc(100_000))));
  });
  return made;
};
let server: ReturnType<typeof app>;
beforeEach(async () => {
  taken = 0;
  server = app();
  port = Number(new URL(await server.listen({ port: 0, host: "127.0.0.1" })).port);
});
afterEach(() => server.close());

/** Sends pieces, each after `pause`. Returns the answer. */
async function send(
  line: string,
  {
    bytes,
    pause,
    pieces,
    type,
  }: { type: string; bytes: number; pieces: readonly string[]; pause?: () => Promise<void> },
): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  let answer = "";
  socket.on("data", (part) => {
    answer += part;
  });
  const ended = once(socket, "close");
  socket.write(
    `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: ${bytes}\r\n\r\n`,
  );
  for (const piece of pieces) {
    await pause?.();
    socket.write(piece);
  }
  await ended;
  return answer;
}

test("a stalled body times out", async () => {
  const answer = await send("POST /whole", { type: "application/json", bytes: 20, pieces: ['{"a"'] });
  expect(answer).toMatch(/^HTTP\/1\.1 408 .*request_timeout/s);
  const tar = await send("PUT /pieces", { type: "application/x-tar", bytes: 20, pieces: ["abc"] });
  expect(tar).toMatch(/^HTTP\/1\.1 408 /);
});

test("a body that is read in pieces may take long while pieces arrive", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let sent = 0;
  const pause = async () => {
    await eventually(() => expect(taken).toBe(sent));
    sent += 1;
    vi.advanceTimersByTime(TIME_MS);
  };
  const answer = await send("PUT /pieces", { type: "application/x-tar", bytes: 8, pieces: [..."abcdefgh"], pause });
  vi.useRealTimers();
  expect(answer).toMatch(/^HTTP\/1\.1 200 .*\{"bytes":8\}$/s);
});

test("a stalled body whose client takes no answer loses its connection", async () => {
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => undefined);
  socket.write("PUT /unread HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-tar\r\ncontent-length: 20\r\n\r\n");
  const connections = () => new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)));
  await eventually(async () => expect(await connections()).toBe(1));
  await eventually(async () => expect(await connections()).toBe(0));
  socket.destroy();
});
