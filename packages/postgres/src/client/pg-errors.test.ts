import { expect, test } from "vitest";
import { unavailableError } from "./pg-errors.ts";

test("suggests the status command when a connection fails", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" });
  const hosted = unavailableError(refused, "cli db status cloud://acme:main");
  expect(hosted.message).toBe("PostgreSQL does not accept connections (it is not running).");
  expect(hosted.hint).toBe("Try again in a moment. Check its status: cli db status cloud://acme:main");
  expect(unavailableError(refused).hint).toBe("Try again in a moment.");
});

test("says that a connection that takes too long meets a busy machine", () => {
  const late = unavailableError(new Error("timeout expired"), "cli db status cloud://acme:main");
  expect(late.message).toBe("PostgreSQL does not accept connections (it did not answer in time).");
  expect(late.hint).toBe(
    "The machine or the database has too much to do. Try again in a moment. Check its status: cli db status cloud://acme:main",
  );
});
