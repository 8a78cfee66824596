import { expect, test } from "vitest";
import { unavailableError } from "./pg-errors.ts";

test("suggests the status command when a connection fails", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" });
  const hosted = unavailableError(refused, "cli db status cloud://acme:main");
  expect(hosted.message).toBe("PostgreSQL does not accept connections (it is not running).");
  expect(hosted.hint).toBe("Try again in a moment. Check its status: cli db status cloud://acme:main");
  expect(unavailableError(refused).hint).toBe("Try again in a moment.");
});
