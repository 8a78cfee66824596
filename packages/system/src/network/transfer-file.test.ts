import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { getFile, openContent, putFile } from "./transfer-file.ts";

const PIECE = Buffer.alloc(1 << 16, "a");
/** The client may leave some pieces in buffers of the system. */
const ENOUGH_BYTES = 64 << 20;

let folder: string;
let server: Server;
let address: string;
let sentBytes: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-transfer-"));
  sentBytes = 0;
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === "/put" ? 201 : 422);
    const send = () => {
      for (let isReady = true; isReady && !response.destroyed; ) {
        if (sentBytes >= ENOUGH_BYTES) return void response.end();
        isReady = response.write(PIECE);
        sentBytes += PIECE.length;
      }
    };
    response.on("drain", send);
    response.on("error", () => undefined);
    send();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const transfer = () => ({ signal: AbortSignal.timeout(20_000), pauses_s: [] });

test("the endless error of a server is not read to its end", async () => {
  const refused = { code: "server_failed", message: "The media store answered 422." };
  await expect(getFile(address, join(folder, "a"), "0", transfer())).rejects.toMatchObject(refused);
  await expect(openContent(address, undefined, transfer())).rejects.toMatchObject(refused);
  expect(sentBytes).toBeLessThan(ENOUGH_BYTES / 2);
  expect(readdirSync(folder)).toEqual([]);
});

test("the endless answer to a put is not read to its end", async () => {
  writeFileSync(join(folder, "a"), "one");
  expect(await putFile(`${address}/put`, join(folder, "a"), 3, transfer())).toBe("");
  expect(sentBytes).toBeLessThan(ENOUGH_BYTES / 2);
});
