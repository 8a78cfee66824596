import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople } from "../testing/people.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Begins a request with a body of `announced` bytes and sends `sent` of them. */
async function begin(org: string, token: string, announced: number, sent: number): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(
    `POST /v1/orgs/${org}/blobs/missing HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${announced}\r\n\r\n`,
  );
  if (sent > 0) await new Promise((resolve) => socket.write(" ".repeat(sent), resolve));
  return socket;
}

/** Sends a whole body of some bytes. */
const send = (org: string, token: string, bytes: number) =>
  fetch(`${server.url}/v1/orgs/${org}/blobs/missing`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: `{"digests":[]${" ".repeat(bytes)}}`,
  });

test("bodies that are only announced hold no place", async () => {
  const { org, owner, member } = await makePeople(server);
  const sockets = await Promise.all(Array.from({ length: 8 }, () => begin(org.name, owner.token, 32_000_000, 0)));
  expect((await send(org.name, member.token, 335_000)).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

test("bodies that arrive for an organization are limited until they end", async () => {
  const { org, owner, member } = await makePeople(server);
  const socket = await begin(org.name, owner.token, 32_000_000, 20_000_000);
  const refused = await send(org.name, member.token, 31_000_000);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await refused.json()).toMatchObject({ code: "rate_limited", meta: { most_body_bytes: 40_000_000 } });
  expect((await send(org.name, member.token, 335_000)).status).toBe(200);
  socket.destroy();
  await eventually(async () => expect((await send(org.name, member.token, 31_000_000)).status).toBe(200));
});
