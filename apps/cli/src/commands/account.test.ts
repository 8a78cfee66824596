import { describe, expect, test } from "vitest";
import { organizationLine } from "./account.ts";

describe("organization line", () => {
  const acme = { id: "o1", name: "acme", role: "member" } as const;

  test.each([
    [{ organization: acme, organizations: 2 }, "Organization: acme (member)"],
    [{ organization: { ...acme, role: null }, organizations: 1 }, "Organization: acme"],
    [{ organization: null, organizations: 0 }, "No organization yet: create one with cli org create NAME"],
  ])("of %j", (who, line) => {
    expect(organizationLine(who)).toBe(line);
  });

  test("asks to upgrade and log in again when the session lacks organizations", () => {
    expect(organizationLine({ organization: null, organizations: 1 })).toBe(
      "No organization yet, though you belong to 1: upgrade this library and run cli login again",
    );
  });
});
