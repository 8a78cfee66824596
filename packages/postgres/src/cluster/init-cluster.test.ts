import { expect, test } from "vitest";
import { adviseOnInitdb } from "./init-cluster.ts";

test("reports a user without a passwd entry instead of a disk problem", () => {
  const said = "could not look up effective user ID 12345: user does not exist";
  expect(adviseOnInitdb(said)).toContain("/etc/passwd");
  expect(adviseOnInitdb("could not create directory: Permission denied")).toContain("the home is writable");
});
