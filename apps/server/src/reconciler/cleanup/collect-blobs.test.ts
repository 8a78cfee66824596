import { expect, test } from "vitest";
import { interleaveByOrganization } from "./collect-blobs.ts";

test("organizations' blobs are removed in turns, each organization's in order", () => {
  const rows = ["a1", "a2", "a3", "a4", "b1", "c1", "c2"].map((digest) => ({ org_id: digest.slice(0, 1), digest }));
  expect(interleaveByOrganization(rows).map(({ digest }) => digest)).toEqual([
    "a1",
    "b1",
    "c1",
    "a2",
    "c2",
    "a3",
    "a4",
  ]);
});
