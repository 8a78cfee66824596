import { describe, expect, test } from "vitest";
import { nearestName } from "./nearest.ts";

describe("nearestName", () => {
  test.each([
    ["titel", "title"],
    ["Title", "title"],
    ["bdoy", "body"],
    ["memory_bm", "memory_mb"],
    ["exclud", "exclude"],
    ["titlee", "title"],
  ])("takes %s for %s", (written, meant) => {
    expect(nearestName(written, ["title", "body", "memory_mb", "exclude", "include"])).toBe(meant);
  });

  test("suggests nothing when nothing is near", () => {
    expect(nearestName("price", ["title", "body"])).toBeUndefined();
    expect(nearestName("x", [])).toBeUndefined();
    expect(nearestName("x", ["a", "y"])).toBeUndefined();
    expect(nearestName("ab", ["yz"])).toBeUndefined();
  });

  test("the nearer name wins; the first one on a tie", () => {
    expect(nearestName("include", ["exclude", "includes"])).toBe("includes");
    expect(nearestName("bat", ["cat", "rat"])).toBe("cat");
  });

  test("a very long name is rejected by its length alone", () => {
    expect(nearestName("x".repeat(100_000), ["title"])).toBeUndefined();
  });
});
