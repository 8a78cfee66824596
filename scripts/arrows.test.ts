import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeBin, ROOT } from "./lib/paths.mjs";

/** A file with a forbidden import, and the imported module. */
const VIOLATIONS: readonly [file: string, imported: string][] = [
  ["packages/contract/src/planted.ts", "@appdb/engine/ports"],
  ["packages/contract/src/planted.ts", "@appdb/postgres/client/pg-pool"],
  ["packages/contract/src/planted.ts", "../../engine/src/ports.ts"],
  ["packages/contract/src/planted.ts", "pg"],
  ["packages/engine/src/rows/planted.ts", "@appdb/postgres/client/pg-pool"],
  ["packages/engine/src/rows/planted.ts", "../../../postgres/src/client/pg-pool.ts"],
  ["packages/engine/src/rows/planted.ts", "@appdb/testkit/eventually"],
  ["packages/engine/src/rows/planted.ts", "@appdb/runtime/composition/compose"],
  ["packages/engine/src/rows/planted.ts", "pg"],
  ["packages/engine/src/rows/planted.ts", "msgpackr"],
  ["packages/engine/src/rows/planted.ts", "fastify"],
  ["packages/engine/src/rows/planted.ts", "node:http"],
  ["packages/engine/src/rows/planted.ts", "node:child_process"],
  ["packages/engine/src/rows/planted.ts", "node:fs/promises"],
  ["packages/python-runtime/src/workers/planted.ts", "@appdb/runtime/composition/compose"],
  ["packages/python-runtime/src/workers/planted.ts", "@appdb/cli/app"],
  ["packages/python-runtime/src/workers/planted.ts", "@appdb/testkit/eventually"],
  ["packages/python-runtime/src/workers/planted.ts", "../../../../apps/runtime/src/composition/compose.ts"],
  ["packages/python-runtime/src/workers/planted.ts", "fastify"],
  ["packages/system/src/files/planted.ts", "@appdb/postgres/client/pg-pool"],
  ["packages/postgres/src/client/planted.ts", "@appdb/pods/choose-driver"],
  ["packages/pods/src/driver/planted.ts", "@appdb/python-runtime/images/build-image"],
  ["packages/http/src/planted.ts", "@appdb/system/secret"],
  ["packages/python-runtime/src/workers/planted.ts", "@appdb/postgres/client/pg-pool"],
  ["packages/testkit/src/planted.ts", "@appdb/runtime/composition/compose"],
  ["apps/cli/src/planted.ts", "@appdb/runtime/composition/compose"],
  ["apps/cli/src/planted.ts", "../../pod/src/compose.ts"],
  ["apps/cli/src/planted.ts", "@appdb/testkit/eventually"],
  ["apps/cli/src/planted.ts", "pg"],
  ["apps/cli/src/planted.ts", "fastify"],
  ["apps/runtime/src/planted.ts", "@appdb/cli/app"],
  ["apps/runtime/src/planted.ts", "@appdb/testkit/eventually"],
  ["apps/runtime/src/planted.ts", "pg"],
  ["apps/runtime/src/planted.ts", "msgpackr"],
  ["apps/cli/src/planted.ts", "@appdb/server/compose"],
  ["apps/runtime/src/planted.ts", "@appdb/server/compose"],
  ["apps/server/src/http/planted.ts", "@appdb/cli/app"],
  ["apps/server/src/http/planted.ts", "@appdb/runtime/composition/compose"],
  ["apps/server/src/http/planted.ts", "@appdb/testkit/eventually"],
  ["apps/server/src/http/planted.ts", "better-auth"],
  ["apps/server/src/http/planted.ts", "better-auth/api"],
  ["apps/server/src/identity/planted.ts", "@appdb/runtime/composition/compose"],
  ["apps/dashboard/src/planted.ts", "@appdb/engine/ports"],
  ["apps/dashboard/src/planted.ts", "@appdb/server/compose"],
  ["apps/dashboard/src/planted.ts", "node:fs"],
  ["apps/dashboard/src/planted.ts", "@appdb/runtime/composition/compose"],
  ["apps/dashboard/src/planted.ts", "../../pod/src/compose.ts"],
  ["apps/dashboard/src/planted.ts", "zod"],
  ["packages/engine/src/rows/planted.test.ts", "@appdb/runtime/composition/compose"],
  ["e2e/planted.e2e.test.ts", "@appdb/cli/app"],
];

/** Allowed imports. */
const ALLOWED: readonly [file: string, imported: string][] = [
  ["packages/contract/src/planted.ts", "zod"],
  ["packages/engine/src/rows/planted.ts", "@appdb/contract/errors"],
  ["packages/engine/src/rows/planted.ts", "../../ports.ts"],
  ["packages/python-runtime/src/workers/planted.ts", "@appdb/engine/ports"],
  ["packages/python-runtime/src/workers/planted.ts", "msgpackr"],
  ["apps/runtime/src/planted.ts", "@appdb/postgres/client/pg-pool"],
  ["apps/runtime/src/planted.ts", "fastify"],
  ["apps/dashboard/src/planted.ts", "@appdb/contract/errors"],
  ["apps/dashboard/src/planted.ts", "react"],
  ["packages/engine/src/rows/planted.db.test.ts", "@appdb/testkit/test-database"],
  ["apps/server/src/database/planted.ts", "pg"],
  ["apps/server/src/identity/planted.ts", "better-auth"],
  ["apps/server/src/testing/planted.ts", "@appdb/testkit/test-database"],
  ["apps/dashboard/src/planted.ts", "@appdb/contract/clients/control-client"],
];

describe("the arrows between packages", () => {
  let root: string;
  let found: Map<string, string[]>;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "appdb-arrows-"));
    copyRules(root);
    const files = [...VIOLATIONS, ...ALLOWED].map(([file, imported], index) => {
      const planted = join(root, at(file, index));
      mkdirSync(dirname(planted), { recursive: true });
      writeFileSync(planted, `import * as planted from ${JSON.stringify(imported)};\n\nexport const used = planted;\n`);
      return planted;
    });
    found = lint(root, files);
  });

  afterAll(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test.each(VIOLATIONS.map((violation, index) => [...violation, index] as const))(
    "%s may not import %s",
    (file, _imported, index) => {
      expect(found.get(at(file, index))).toContain("lint/style/noRestrictedImports");
    },
  );

  test.each(ALLOWED.map((allowed, index) => [...allowed, index + VIOLATIONS.length] as const))(
    "%s may import %s",
    (file, _imported, index) => {
      expect(found.get(at(file, index)) ?? []).not.toContain("lint/style/noRestrictedImports");
    },
  );
});

test("refuses a literal spread into another one", () => {
  const root = mkdtempSync(join(tmpdir(), "appdb-spreads-"));
  try {
    copyRules(root);
    const planted = {
      "object.ts": "{ ...{ a: 1 }, b: 2 }",
      "list.ts": "[...[1], 2]",
      "allowed.ts": "{ ...base, b: 2 }",
    };
    for (const [file, text] of Object.entries(planted)) {
      writeFileSync(join(root, file), `const base = { a: 1 };\nexport const made = [base, ${text}];\n`);
    }
    const args = [nodeBin("@biomejs/biome", "biome"), "lint", "--reporter=json", ...Object.keys(planted)];
    const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { category: string; location: { path: string } }[] };
    const refused = diagnostics.filter(({ category }) => category === "plugin").map(({ location }) => location.path);
    expect(refused.sort()).toEqual(["list.ts", "object.ts"]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

function copyRules(root: string) {
  cpSync(join(ROOT, "biome.json"), join(root, "biome.json"));
  cpSync(join(ROOT, "scripts/lint"), join(root, "scripts/lint"), { recursive: true });
}

test("every tracked file is linted", () => {
  const tracked = execFileSync("git", ["ls-files", "*.ts", "*.mjs"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const outside = tracked.filter(
    (file) => file !== "" && !/^(packages|apps|scripts|bench|e2e)\/|^vitest\.config/.test(file),
  );
  expect(outside).toEqual([]);
});

/** Each planted file has its own folder, so that equal names do not collide. */
function at(file: string, index: number): string {
  return join(dirname(file), file.endsWith(".test.ts") ? `${index}-${file.split("/").at(-1)}` : `planted-${index}.ts`);
}

function lint(root: string, files: readonly string[]): Map<string, string[]> {
  const args = [
    nodeBin("@biomejs/biome", "biome"),
    "lint",
    "--only=style/noRestrictedImports",
    "--reporter=json",
    "--max-diagnostics=none",
    ...files.map((file) => file.slice(root.length + 1)),
  ];
  const done = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  const report = JSON.parse(done.stdout) as { diagnostics: { category: string; location: { path: string } }[] };
  const found = new Map<string, string[]>();
  for (const { category, location } of report.diagnostics) {
    found.set(location.path, [...(found.get(location.path) ?? []), category]);
  }
  return found;
}
