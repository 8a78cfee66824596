import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/** Words of translated English, and a native writer's alternatives. */
const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\banew\b/i, "again"],
  [/\bshall\b/i, "must, will"],
  [/\b(?:whoever|whomever)\b/i, "the person who, the caller"],
  [/\b(?:nobody|somebody|anybody)\b/i, "no one, someone, or another subject"],
  [/\bformer(?:ly)?\b/i, "previous"],
  [/\b(?:is|are) told\b/i, "gets, reports"],
  [/\b(?:go|goes|going) on\b/i, "continue"],
  [/\bby (?:itself|themselves)\b/i, "automatically"],
  [/\bbeside\b/i, "next to, in addition to"],
  [/(?<!\bthere )\b(?:is|are) no (?!longer\b)\w/i, "is not"],
];
/** Correct uses: an example application's text, and quoted test titles and sentences. */
const EXCEPTIONS = [/^docs\/spec-coverage\.md: /];

const PAGES = /^(?:docs\/[^/]+\.md|README\.md|ARCHITECTURE\.md|SECURITY\.md)$/;
const SOURCES =
  /^(?:packages\/(?:contract|engine|adapters)\/src|apps\/(?:cli|server)\/src|python\/appdb)\/.*\.(?:ts|py)$/;
/** Not part of the product, or not rewritten yet. */
const NOT_CHECKED =
  /\.test\.ts$|\/testing\/|^packages\/engine\/src\/(?:rows|endpoints|idempotency)\/|^apps\/server\/src\/(?:reconciler|queue|gateway|gateway-process)\//;

test("documents and texts of errors use plain English", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const present = files.filter((file) => existsSync(join(ROOT, file)));
  const pages = present.filter((file) => PAGES.test(file)).map((file) => [file, proseOf(read(file))] as const);
  const sources = present
    .filter((file) => SOURCES.test(file) && !NOT_CHECKED.test(file))
    .map((file) => [file, textsOf(read(file))] as const);
  expect(pages.length).toBeGreaterThan(40);
  expect(sources.flatMap(([, texts]) => texts).length).toBeGreaterThan(2_000);
  const found = [...pages, ...sources].flatMap(([file, texts]) => texts.flatMap((text) => problemsOf(file, text)));
  expect(found.filter((problem) => !EXCEPTIONS.some((exception) => exception.test(problem)))).toEqual([]);
});

test("finds a word in pages and error texts but not in code", () => {
  const page =
    "The server goes on.\n\n    cli logs  # goes on\n\n```sh\ngoes on\n```\n\n`goes on` is fine. Nobody is.\n";
  expect(proseOf(page).flatMap((text) => problemsOf("a.md", text))).toEqual([
    "a.md: 'goes on' (continue): The server goes on.",
    "a.md: 'Nobody' (no one, someone, or another subject): ` ` is fine. Nobody is.",
  ]);
  const code = `const former = "former-";\nthrow appError("usage", { detail: \`\${former} is no file.\` });\n`;
  const source = `// goes on\n${code}`;
  expect(textsOf(source).flatMap((text) => problemsOf("a.ts", text))).toEqual([
    "a.ts: 'is no f' (is not):  is no file.",
  ]);
});

function problemsOf(file: string, text: string): string[] {
  return WORDS.flatMap(([word, instead]) => {
    const found = word.exec(text)?.[0];
    return found === undefined ? [] : [`${file}: '${found}' (${instead}): ${text}`];
  });
}

/** Lines of a page without code and comments. */
function proseOf(page: string): string[] {
  return page
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .split("\n")
    .filter((line) => !line.startsWith("    "))
    .map((line) => line.replaceAll(/`[^`]*`/g, "` `").trim())
    .filter((line) => line !== "");
}

/** Multi-word literals of a source, without embedded code. */
function textsOf(source: string): string[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/\*\*?|\*|#).*$/gm, "").replaceAll(/"""[\s\S]*?"""/g, "");
  const literals = [...code.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)*)`/g)].map(
    (match) => match[1] ?? match[2] ?? "",
  );
  return literals.map((text) => text.replaceAll(/\$?\{[^{}]*\}/g, "")).filter((text) => /[a-z] [a-z]/.test(text));
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
