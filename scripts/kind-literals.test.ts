import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { TYPE_KINDS } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/** Where the product works with values. Files of a kind, and tests, may name kinds. */
const FOLDERS = ["packages/contract/src", "packages/engine/src", "packages/adapters/src", "apps/pod/src"];
const FREE = /\/kinds\/|\/testing\/|\.test\.ts$/;
/** Files whose words only look like kinds. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["packages/contract/src/types.ts", "declares the kinds, and how a type is printed"],
  ["packages/contract/src/display-json.ts", "names types and formats of JSON Schema"],
  ["packages/engine/src/expressions/json-forms.ts", "names types of JSON"],
  ["packages/engine/src/expressions/time-forms.ts", "names namespaces of functions, and types of PostgreSQL"],
  ["apps/pod/src/services/service-store.ts", "names extensions of files"],
]);

const KIND = `"(?:${TYPE_KINDS.join("|")})"`;
/** What the same words mean elsewhere: JavaScript's types, JSON Schema, types of PostgreSQL, options of other programs. */
const ELSEWHERE = [
  /^\s*(?:\*|\/\/|\/\*\*).*$/gm,
  /typeof [^=]+? [!=]== "string"/g,
  /\b(?:type|format): (?:"\w+"|\[[^\]]*\])/g,
  /\btype [!=]== "array"/g,
  /addFormat\("\w+"/g,
  /raiseWhere\(.*"bool"/g,
  /"array" in place/g,
  /rowMode: "array"/g,
  /"--output-format", "json"/g,
];
const LITERAL = new RegExp(KIND, "g");
const KEYS = new RegExp(`(?:(?:[{,]|^)\\s*(?:${TYPE_KINDS.join("|")}):[^\\n,]*,\\s*){3}`, "gm");

/** Lines of a source file that name a kind of column type. */
function literalsIn(source: string): string[] {
  const text = ELSEWHERE.reduce((rest, pattern) => rest.replace(pattern, ""), source);
  const found = [...text.matchAll(LITERAL), ...text.matchAll(KEYS)];
  return found.map(
    ({ index }) =>
      text
        .slice(text.lastIndexOf("\n", index) + 1)
        .split("\n", 1)[0]
        ?.trim() ?? "",
  );
}

/** Source files below a folder, by their path from the root with slashes. */
function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
}

test("only the files of the kinds name a kind of column type", () => {
  const found = FOLDERS.flatMap(sourcesIn)
    .filter((file) => !FREE.test(file) && !EXCEPTIONS.has(file))
    .flatMap((file) => literalsIn(readFileSync(join(ROOT, file), "utf8")).map((line) => `${file}: ${line}`));
  expect(found, "Ask the kind instead: kindOf(type) of packages/engine/src/kinds/kinds.ts").toEqual([]);
});

test.each([
  'if (type.kind === "uuid") return text;',
  '    case "timestamp":',
  'const SHORT = new Set(["int", "bool"]);',
  'slots.push({ name, type: { kind: "uuid" } });',
  "const NAMES = {\n  string: 1,\n  int: 2,\n  float: 3,\n};",
])("finds a named kind: %s", (source) => {
  expect(literalsIn(source)).not.toEqual([]);
});

test.each([
  'if (typeof value === "string") return value;',
  'schema: { type: "string", format: "uuid" },',
  "// as for a date",
])("leaves other words alone: %s", (source) => {
  expect(literalsIn(source)).toEqual([]);
});
