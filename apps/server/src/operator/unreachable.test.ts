import { expect, test } from "vitest";
import { unreachable } from "./unreachable.ts";

test("distinguishes a hanging PostgreSQL from a stopped server", () => {
  const config = { home: "/home", database: { url: undefined, pg_bin: undefined } };
  const absent = Object.assign(new Error("connect ENOENT /run/.s.PGSQL.5432"), { code: "ENOENT" });
  for (const cause of [undefined, absent]) {
    expect(unreachable(config, cause)).toMatchObject({
      message: "No server of the home /home is running, so neither is its PostgreSQL.",
      hint: "Start the server first: npm start",
    });
  }
  expect(unreachable(config, new Error("timeout exceeded when trying to connect"))).toMatchObject({
    code: "server_unreachable",
    message: "The PostgreSQL of the home /home does not answer: timeout exceeded when trying to connect.",
    hint: "Try again; then read /home/server/logs/postgres.log and restart the server.",
  });
});
