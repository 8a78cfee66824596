import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { readStartup } from "./read-startup.ts";

const TLS = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const CANCEL = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2]);

function startup(user: string): Buffer {
  const text = Buffer.from(`user\0${user}\0database\0main\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + text.length, 0);
  head.writeUInt32BE(196_608, 4);
  return Buffer.concat([head, text]);
}

/** What is read of pieces, which a client sends before it ends, and what it gets. */
async function read(...pieces: readonly Buffer[]) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  try {
    const got: Buffer[] = [];
    client.on("data", (piece: Buffer) => got.push(piece));
    for (const piece of pieces) client.write(piece);
    client.end();
    const found = await readStartup(socket, "psql_1");
    socket.end();
    if (!client.closed) await once(client, "close");
    return { found, got: Buffer.concat(got).toString() };
  } finally {
    socket.destroy();
    client.destroy();
    server.close();
  }
}

test("reads the first message of the session's user, in pieces of any size", async () => {
  const own = startup("psql_1");
  expect(await read(own)).toEqual({ found: own, got: "" });
  expect((await read(...[...own].map((byte) => Buffer.from([byte])))).found).toEqual(own);
  expect((await read(CANCEL)).found).toEqual(CANCEL);
});

test("refuses encryption, and reads on", async () => {
  const own = startup("psql_1");
  expect(await read(TLS, TLS, own)).toEqual({ found: own, got: "NN" });
});

test.each([
  ["another user", startup("psql_2")],
  ["no user", startup("").fill("x", 8)],
  ["a long message", Buffer.from([0, 1, 0, 0, 0, 3, 0, 0])],
  ["another protocol", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
  ["a part of a message", startup("psql_1").subarray(0, 12)],
  ["nothing", Buffer.alloc(0)],
])("reads nothing of %s", async (_what, bytes) => {
  expect((await read(bytes)).found).toBeUndefined();
});
