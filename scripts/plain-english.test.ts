import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/** Words of translated English, and what a native writer says. */
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
/** True uses: the text of an example application, and titles of tests and sentences that the page quotes. */
const EXCEPTIONS = [/^docs\/spec-coverage\.md: /];

const PAGES = /^(?:docs\/[^/]+\.md|README\.md|ARCHITECTURE\.md|SECURITY\.md)$/;
const SOURCES =
  /^(?:packages\/(?:contract|engine|adapters)\/src|apps\/(?:cli|server)\/src|python\/appdb)\/.*\.(?:ts|py)$/;
/** Not part of the product, or not rewritten yet. */
const NOT_CHECKED = /\.test\.ts$|\/testing\/|^apps\/server\/src\/(?:reconciler|queue|gateway|gateway-process)\//;
/** Files whose comments and test names are checked too. */
const COMMENTED = /^(?:packages\/(?:contract|engine|testkit)\/.*\.ts|python\/.*\.pyi?)$/;

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

test("comments and test names use plain English", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const comments = files
    .filter((file) => COMMENTED.test(file) && existsSync(join(ROOT, file)))
    .flatMap((file) => commentsOf(file, read(file)).map((text) => [file, text] as const));
  expect(comments.length).toBeGreaterThan(4_500);
  expect(comments.flatMap(([file, text]) => problemsOf(file, text))).toEqual([]);
});

test("finds a word in a comment and in a test name, and not in quoted code", () => {
  const source = '// It `goes on`.\n/** Nobody\n *  waits. */\ntest("it goes on", () => {});\nconst shall = "shall";\n';
  const found = commentsOf("a.ts", source).flatMap((text) => problemsOf("a.ts", text));
  expect(found).toEqual([
    "a.ts: 'Nobody' (no one, someone, or another subject): Nobody waits.",
    "a.ts: 'goes on' (continue): it goes on",
  ]);
  const python = commentsOf("a.py", 'shall = "shall"  # anew\n"""Is told."""\n');
  expect(python).toEqual(["anew", "Is told."]);
});

test("finds a word in a page and in the text of an error, and not in code", () => {
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

/** Lines of a page without its code and its comments. */
function proseOf(page: string): string[] {
  return page
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .split("\n")
    .filter((line) => !line.startsWith("    "))
    .map((line) => line.replaceAll(/`[^`]*`/g, "` `").trim())
    .filter((line) => line !== "");
}

/** Comments, docstrings and test names of a source without the code that they quote. */
function commentsOf(file: string, source: string): string[] {
  const patterns = file.endsWith(".ts")
    ? [/\/\*\*?([\s\S]*?)\*\//g, /(?<![:"])\/\/ (.*)/g, /\b(?:test|describe)(?:\.\w+)?\(\s*["`](.*?)["`],/g]
    : [/# (.*)/g, /"""([\s\S]*?)"""/g];
  return patterns
    .flatMap((pattern) => [...source.matchAll(pattern)].map((match) => match[1] ?? ""))
    .map((text) =>
      text
        .replaceAll(/\s*\n\s*(?:\* *)?/g, " ")
        .replaceAll(/`[^`]*`/g, "` `")
        .trim(),
    );
}

/** Literals of a source that have several words, without the code inside of them. */
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
