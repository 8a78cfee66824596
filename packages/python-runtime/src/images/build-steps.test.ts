import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { BUILD_LIMITS, installPackages, isLinkWarning } from "./build-steps.ts";

test("omits uv's three lines about copying from the build output", () => {
  const warning = [
    "warning: Failed to hardlink files; falling back to full copy. This may lead to degraded performance.",
    "         If the cache and target directories are on different filesystems, hardlinking may not be supported.",
    "         If this is intentional, set `export UV_LINK_MODE=copy` or use `--link-mode=copy` to suppress this warning.",
  ];
  expect(warning.filter((line) => !isLinkWarning(line))).toEqual([]);
  expect(isLinkWarning("warning: The package `tiny` has no extra named `x`")).toBe(false);
});

test("reports the first and last lines of endless build output", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-build-steps-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const told: string[] = [];
  const options = {
    uv: process.execPath,
    network_env: {},
    ca_file: undefined,
    allowed_hosts: [],
    limits: BUILD_LIMITS,
    runTask: async ({ onLine }: { onLine(line: string): void }) => {
      for (let at = 1; at <= 30_000; at += 1) onLine(`hunter2 ${at}`);
      return { code: 0, signal: null, is_out_of_memory: false, exceeded: null };
    },
  };
  const build = {
    id: "build",
    labels: { organization_id: "o", database_id: "d", kind: "database" as const },
    draft: folder,
    limits: BUILD_LIMITS,
    secrets: { TOKEN: "hunter2" },
    system: null,
    onLine: (line: string) => told.push(line),
    environment: { source: null, files: [], python_version: null, system_packages: [], uv_options: null },
    facts: {
      version: [3, 12, 1] as const,
      executable: "/usr/bin/python3",
      base: "/usr/bin/python3",
      prefix: "/usr",
      paths: [],
    },
  };
  const { output } = await installPackages(options, build, join(folder, "cache"), new AbortController().signal);
  expect(told).toHaveLength(10_400);
  expect([told[0], told[9_999], told[10_000], told.at(-1)]).toEqual(["*** 1", "*** 10000", "*** 29601", "*** 30000"]);
  expect(output).toContain("*** 30000");
});
