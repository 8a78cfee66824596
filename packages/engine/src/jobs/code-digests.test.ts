import { aFunction, aManifest } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { codeDigests } from "./code-digests.ts";

const SOURCE = { file: "udfs.py", line: 3 };

function digest(digestOfText: string, modules: Record<string, string>): string | undefined {
  const uses = ["app.py", "udfs.py", "words/tables.py"];
  const fn = aFunction("udfs:excerpt", "string", { digest: digestOfText, uses, source: SOURCE });
  const list = Object.entries(modules).map(([path, sha256]) => ({ path, sha256 }));
  return codeDigests(aManifest({ functions: [fn], modules: list })).get("udfs:excerpt");
}

const MODULES = { "app.py": "1", "udfs.py": "1", "words/tables.py": "1", "other.py": "1" };

test("a function's code is its text and its modules, not the rest of its file", () => {
  const first = digest("a", MODULES);
  expect(digest("a", { ...MODULES, "other.py": "2", "app.py": "2", "udfs.py": "2" })).toBe(first);
  expect(digest("a", { ...MODULES, "words/tables.py": "2" })).not.toBe(first);
  expect(digest("b", MODULES)).not.toBe(first);
});
