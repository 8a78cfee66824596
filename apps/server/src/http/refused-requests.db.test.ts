import { once } from "node:events";
import { connect } from "node:net";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, makePerson } from "../testing/people.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const refusals = () => server.log.lines.filter(({ message }) => message === "request refused");

test("failed sign-ins are logged with the address, without the password", async () => {
  const body = { email: "ann@example.com", password: "a guess at a password" };
  expect((await server.send("POST", "/v1/auth/sign-in/email", { body })).status).toBe(401);
  expect(refusals().at(-1)?.fields).toMatchObject({
    method: "POST",
    route: "/v1/auth/sign-in/email",
    code: "sign_in_failed",
    status: 401,
    ip: "127.0.0.1",
    caller: null,
  });
  expect(JSON.stringify(server.log.lines)).not.toContain(body.password);
});

test("refused requests are logged with the person", async () => {
  const { org } = await makePeople(server);
  const stranger = await makePerson(server);
  const asked = await server.ask("orgShow", { params: { org: org.name }, as: stranger });
  expect(asked.json).toMatchObject({ code: "organization_not_found" });
  expect(refusals().at(-1)?.fields).toMatchObject({ code: "organization_not_found", caller: stranger.id });
});

test("logs no error for a client that leaves during its body", async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const head = [
    `POST /v1/auth/sign-in/email HTTP/1.1`,
    "host: x",
    "content-type: application/json",
    "content-length: 20",
  ];
  await new Promise((resolve) => socket.write(`${head.join("\r\n")}\r\n\r\n{"a"`, resolve));
  socket.destroy();
  await eventually(() =>
    expect(server.log.lines.filter(({ message }) => message === "the client of a request left")).toMatchObject([
      { level: "info", fields: { method: "POST", route: "/v1/auth/sign-in/email" } },
    ]),
  );
  expect(server.log.lines.filter(({ level }) => level === "error")).toEqual([]);
});
