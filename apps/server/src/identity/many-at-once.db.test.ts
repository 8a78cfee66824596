import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePerson } from "../testing/people.ts";
import { openFirstAccount } from "./first-account.ts";

/** More than the server has connections to PostgreSQL: whoever holds one and waits for another waits for all. */
const MANY = 20;
const PASSWORD = "long enough for it";

describe("many at once", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openServer({ env: { SERVICE_SIGN_UP: "open" } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("try wrong tokens while the first account is made", async () => {
    const token = (await openFirstAccount(server.deps.db)) ?? "";
    const make = (text: string) =>
      server.send("POST", "/v1/setup", {
        body: { token: text, email: "ann@example.com", name: "Ann", password: PASSWORD },
      });
    const answers = await Promise.all([make(token), ...Array.from({ length: MANY - 2 }, () => make("wrong"))]);
    expect(answers[0]?.status, answers[0]?.text).toBe(201);
    expect(answers.slice(1).every(({ status }) => status === 401 || status === 409)).toBe(true);
  });

  test("sign up, each with an account", async () => {
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

test("of two that sign up at once with one address, one has the account and the other is told that there is one", async () => {
  await using server = await openServer({ env: { SERVICE_SIGN_UP: "open" } });
  await makePerson(server);
  const body = { email: "twice@example.com", name: "Twice", password: PASSWORD };
  const sent = await Promise.all([1, 2].map(() => server.send("POST", "/v1/auth/sign-up/email", { body })));
  expect(sent.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(sent.find(({ status }) => status === 409)?.json.code).toBe("account_exists");
});
