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
