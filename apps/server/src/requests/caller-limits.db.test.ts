import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople } from "../testing/people.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ env: { SERVICE_API_RATE: "5", SERVICE_API_OPEN_REQUESTS: "2" } });
});
afterAll(() => server[Symbol.asyncDispose]());

test("a caller above its rate waits, and others do not", async () => {
  const setup = await makePeople(server);
  const show = (as: object) => server.ask("orgShow", { as, params: { org: setup.org.name } } as never);
  let refused = await show(setup.member);
  for (let at = 0; at < 500 && refused.status === 200; at++) refused = await show(setup.member);
  expect(refused.json).toMatchObject({ code: "rate_limited", status: 429, meta: { rate: 5 } });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await show(setup.owner)).status).toBe(200);
});

test("a caller at its limit of open streams gets another one after closing one", async () => {
  const { org, owner } = await makePeople(server);
  const stops = [new AbortController(), new AbortController()];
  const open = (signal: AbortSignal) =>
    fetch(`${server.url}/v1/orgs/${org.name}/events`, {
      headers: { authorization: `Bearer ${owner.token}`, accept: "text/event-stream" },
      signal,
    });
  const answers = await Promise.all(stops.map(({ signal }) => open(signal)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const params = { org: org.name };
  const refused = await server.ask("orgShow", { as: owner, params } as never);
  expect(refused.json).toMatchObject({ code: "rate_limited", meta: { most_open: 2 } });
  stops[0]?.abort();
  await expect.poll(async () => (await server.ask("orgShow", { as: owner, params } as never)).status).toBe(200);
  stops[1]?.abort();
});

test("requests of disconnected clients release their slots", async () => {
  const { org, owner } = await makePeople(server);
  const { hostname, port } = new URL(server.url);
  const head = `GET /v1/orgs/${org.name} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${owner.token}\r\n\r\n`;
  for (let left = 0; left < 12; left += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    await new Promise((resolve) => socket.write(head, resolve));
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  const show = async () => (await server.ask("orgShow", { as: owner, params: { org: org.name } } as never)).status;
  await expect.poll(show, { timeout: 15_000, interval: 500 }).toBe(200);
});
