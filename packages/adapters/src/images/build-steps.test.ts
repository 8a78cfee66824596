import { expect, test } from "vitest";
import { isAboutLinks } from "./build-steps.ts";

test("the three lines in which uv says that it copies are no part of a build's output", () => {
  const warning = [
    "warning: Failed to hardlink files; falling back to full copy. This may lead to degraded performance.",
    "         If the cache and target directories are on different filesystems, hardlinking may not be supported.",
    "         If this is intentional, set `export UV_LINK_MODE=copy` or use `--link-mode=copy` to suppress this warning.",
  ];
  expect(warning.filter((line) => !isAboutLinks(line))).toEqual([]);
  expect(isAboutLinks("warning: The package `tiny` has no extra named `x`")).toBe(false);
});
