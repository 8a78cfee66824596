import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePerson } from "../testing/people.ts";
import { openFirstAccount } from "./first-account.ts";

/** More than the pool's connections: a request that holds one and waits for a second would deadlock. */
const MANY = 20;
const PASSWORD = "long enough for it";

describe("many concurrent requests", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openServer({ env: { SERVICE_SIGN_UP: "open" } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("with wrong tokens do not block the first account", async () => {
    const token = (await openFirstAccount(server.deps.db)) ?? "";
    const make = (text: string) =>
      server.send("POST", "/v1/setup", {
        body: { token: text, email: "ann@example.com", name: "Ann", password: PASSWORD },
      });
    const answers = await Promise.all([make(token), ...Array.from({ length: MANY - 2 }, () => make("wrong"))]);
    expect(answers[0]?.status, answers[0]?.text).toBe(201);
    expect(answers.slice(1).every(({ status }) => status === 401 || status === 409)).toBe(true);
  });

  test("sign up and get an account each", async () => {
    await makePerson(server);
    const answers = await Promise.all(
      Array.from({ length: MANY }, (_, index) =>
        server.send("POST", "/v1/auth/sign-up/email", {
          body: { email: `many${index}@example.com`, name: "Many", password: PASSWORD },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });
});

test("of two that sign up one address, one succeeds and the other learns that the account exists", async () => {
  await using server = await openServer({ env: { SERVICE_SIGN_UP: "open" } });
  await makePerson(server);
  const body = { email: "twice@example.com", name: "Twice", password: PASSWORD };
  const sent = await Promise.all([1, 2].map(() => server.send("POST", "/v1/auth/sign-up/email", { body })));
  expect(sent.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(sent.find(({ status }) => status === 409)?.json.code).toBe("account_exists");
});
