import { expect, test } from "vitest";
import { asServerUser } from "./server-user.ts";

test.each(["darwin", "win32"] as const)("a program of PostgreSQL is started as it is on %s", (platform) => {
  expect(asServerUser("postgres", ["-D", "x"], platform)).toEqual({ program: "postgres", args: ["-D", "x"] });
});
