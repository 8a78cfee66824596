import { expect, test } from "vitest";
import { asServerUser } from "./server-user.ts";

test.each(["darwin", "win32"] as const)("starts a PostgreSQL program unchanged on %s", (platform) => {
  expect(asServerUser("postgres", ["-D", "x"], platform)).toEqual({ program: "postgres", args: ["-D", "x"] });
});
