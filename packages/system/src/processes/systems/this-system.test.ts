import { expect, test } from "vitest";
import { systemOf } from "./this-system.ts";

test.each([
  ["linux", true, true],
  ["darwin", true, true],
  ["freebsd", true, true],
  ["win32", false, false],
] as const)("%s has groups: %s, signals: %s", (platform, hasGroups, hasSignals) => {
  expect(systemOf(platform)).toMatchObject({ has_groups: hasGroups, has_signals: hasSignals });
});
