import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { routeKindSchema } from "@appdb/contract/manifest";
import { TYPE_KINDS } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/** Folders of the product that handle values. Files of a kind, and tests, may name kinds. */
const FOLDERS = [
  "packages/contract/src",
  "packages/engine/src",
  "packages/http/src",
  "packages/pods/src",
  "packages/postgres/src",
  "packages/python-runtime/src",
  "packages/system/src",
  "apps/runtime/src",
];
const FREE = /\/kinds\/|\/testing\/|\.test\.ts$/;
/** Files whose words only look like kinds. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["packages/contract/src/types.ts", "declares the kinds, and how a type is printed"],
  ["packages/contract/src/display-json.ts", "names types and formats of JSON Schema"],
  ["packages/engine/src/expressions/json-forms.ts", "names types of JSON"],
  ["packages/engine/src/expressions/time-forms.ts", "names namespaces of functions, and types of PostgreSQL"],
  ["packages/contract/src/routes/control-databases.ts", "names parts of a hosted database"],
  ["packages/pods/src/driver/local-driver.ts", "names members of a pod's spec"],
  ["apps/runtime/src/services/service-store.ts", "names extensions of files"],
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
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
}

test("only the files of the kinds name a kind of column type", () => {
  const found = FOLDERS.flatMap(sourcesIn)
    .filter((file) => !FREE.test(file) && !EXCEPTIONS.has(file))
    .flatMap((file) => literalsIn(readFileSync(join(ROOT, file), "utf8")).map((line) => `${file}: ${line}`));
  expect(found, "Ask the kind instead: kindOf(type) of packages/engine/src/kinds/kinds.ts").toEqual([]);
});

/** Where the product works with routes. */
const ROUTE_FOLDERS = [...FOLDERS, "apps/cli/src", "apps/server/src", "apps/dashboard/src"];
const ROUTE_FREE = /\/route-kinds\/|\/testing\/|\.test\.tsx?$/;
const ROUTE_EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["packages/contract/src/manifest.ts", "declares the kinds"],
]);
const ROUTE = `"(?:${routeKindSchema.options.join("|")})"`;
/** Words such as `update` and `query` mean much else: only what is called a kind, a choice by kinds, and lists of them count. */
const ROUTE_LITERALS = [
  new RegExp(`\\b(?:kind|routeType|route_type)\\)? (?:[!=]==) ${ROUTE}`, "g"),
  new RegExp(`\\b(?:kind|route_type): ${ROUTE}`, "g"),
  new RegExp(`\\bcase ${ROUTE}:\\s*case ${ROUTE}:`, "g"),
  /\bcase "(?:insert|compute|handler)":/g,
  new RegExp(`${ROUTE}, ${ROUTE}, ${ROUTE}`, "g"),
  new RegExp(`(?:\\b(?:${routeKindSchema.options.join("|")}):[^\\n,]*,\\s*){3}`, "g"),
];

/** The places of a source file that name a kind of route. */
function routesIn(source: string): string[] {
  const text = source.replace(/^\s*(?:\*|\/\/|\/\*\*).*$/gm, "");
  return ROUTE_LITERALS.flatMap((pattern) => [...text.matchAll(pattern)].map(([found]) => found));
}

test("only the files of the kinds name a kind of route", () => {
  const found = ROUTE_FOLDERS.flatMap(sourcesIn)
    .filter((file) => !ROUTE_FREE.test(file) && !ROUTE_EXCEPTIONS.has(file))
    .flatMap((file) => routesIn(readFileSync(join(ROOT, file), "utf8")).map((line) => `${file}: ${line}`));
  expect(found, "Ask the kind instead: routeKind(route) of packages/engine/src/route-kinds/route-kinds.ts").toEqual([]);
});

test.each([
  'if (route.kind === "handler") return null;',
  'const isQuery = (kind) !== "query";',
  'return { kind: "insert", inputs };',
  '    case "update":\n    case "delete":',
  'route_type: z.enum(["insert", "compute", "update"]),',
  "const WORDS = {\n  insert: 1,\n  update: 2,\n  compute: 3,\n};",
])("finds a named kind of route: %s", (source) => {
  expect(routesIn(source)).not.toEqual([]);
});

test.each([
  'case "query":',
  'commandLine(["schema", "update", file, target])',
  'readonly method: "insert" | "update" | "merge";',
])("leaves words alone that routes share: %s", (source) => {
  expect(routesIn(source)).toEqual([]);
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
