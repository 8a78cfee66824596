import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { createNotifications } from "./notifications.ts";

const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));
const ENDED = message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection\0\0"));

function message(kind: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(kind), length, content]);
}

test("a connection that PostgreSQL ends with its first answer is refused, and does not end the process", async () => {
  // one packet: the error is read before anything waits for the connection
  const postgres = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED])));
  }).listen(0, "127.0.0.1");
  await once(postgres, "listening");
  const { port } = postgres.address() as AddressInfo;
  {
    const options = { host: "127.0.0.1", port, user: "appdb", database: "control" };
    await using notifications = createNotifications(options, createSilentLog());
    await expect(notifications.listen("control_jobs", () => undefined)).rejects.toThrow();
  }
  await new Promise((resolve) => postgres.close(resolve));
});
