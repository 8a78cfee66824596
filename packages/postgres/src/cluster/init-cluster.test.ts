import { expect, test } from "vitest";
import { adviseOnInitdb } from "./init-cluster.ts";

test("a user without an entry in passwd is told so, and not to look at the disk", () => {
  const said = "could not look up effective user ID 12345: user does not exist";
  expect(adviseOnInitdb(said)).toContain("/etc/passwd");
  expect(adviseOnInitdb("could not create directory: Permission denied")).toContain("the home can be written");
});
