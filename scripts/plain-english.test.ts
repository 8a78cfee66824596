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

/** Every document but the changelog, whose older entries stay as they were published. */
const PAGES = /^(?!CHANGELOG\.md$).*\.md$/;
const SOURCES =
  /^(?:packages\/(?:contract|engine|http|pods|postgres|python-runtime|system)\/src|apps\/(?:cli|server|dashboard)\/src|python\/appdb)\/.*\.(?:tsx?|py)$/;
/** Not part of the product. */
const NOT_CHECKED = /\.test\.ts$|\/testing\//;
/** Folders whose comments and test names are checked too. */
const COMMENTED = [
  /^(?!scripts\/plain-english)(?:packages|apps|e2e|bench|scripts)\/.*\.(?:tsx?|mjs)$/,
  /^python\/.*\.pyi?$/,
];

test("documents and texts of errors use plain English", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const present = files.filter((file) => existsSync(join(ROOT, file)));
  const pages = present.filter((file) => PAGES.test(file)).map((file) => [file, proseOf(read(file))] as const);
  const sources = present
    .filter((file) => SOURCES.test(file) && !NOT_CHECKED.test(file))
    .map((file) => [file, textsOf(read(file))] as const);
  expect(pages.length).toBeGreaterThan(90);
  expect(sources.flatMap(([, texts]) => texts).length).toBeGreaterThan(2_000);
  const found = [...pages, ...sources].flatMap(([file, texts]) => texts.flatMap((text) => problemsOf(file, text)));
  expect(found.filter((problem) => !EXCEPTIONS.some((exception) => exception.test(problem)))).toEqual([]);
});

test("comments and test names use plain English", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const checked = files.filter((file) => COMMENTED.some((folder) => folder.test(file)) && existsSync(join(ROOT, file)));
  const texts = checked.flatMap((file) => remarksOf(file, read(file)).map((text) => [file, text] as const));
  expect(texts.length).toBeGreaterThan(2_000);
  expect(texts.flatMap(([file, text]) => problemsOf(file, text))).toEqual([]);
});

test("finds a word in a comment over two lines and in the name of a test", () => {
  const comment = '/**\n * The key is\n * told, `is told` "is told".\n */\nconst former = 1; // goes on\n';
  const names = 'test("former", () => test.each([[1]])("a %s", "anew"));\ndescribe.skipIf(no)("nobody", () => {});\n';
  expect(remarksOf("a.ts", comment + names).flatMap((text) => problemsOf("a.ts", text))).toEqual([
    "a.ts: 'is told' (gets, reports): The key is told, ` ` ` `.",
    "a.ts: 'goes on' (continue): goes on",
    "a.ts: 'former' (previous): former",
    "a.ts: 'nobody' (no one, someone, or another subject): nobody",
  ]);
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

/** Literals and JSX texts of a source that have several words, without the code in them. */
function textsOf(source: string): string[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/\*\*?|\*|#).*$/gm, "").replaceAll(/"""[\s\S]*?"""/g, "");
  const literals = [...code.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)*)`|[>}]([^<>{}=()"`]+)(?=<\/)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? "",
  );
  return literals.map((text) => text.replaceAll(/\$?\{[^{}]*\}/g, "")).filter((text) => /[a-z] [a-z]/.test(text));
}

/** Comments of a source without the code in them, consecutive lines joined, and the names of its tests. */
function remarksOf(file: string, source: string): string[] {
  if (/\.pyi?$/.test(file)) return pythonRemarksOf(source);
  const comments = [...source.matchAll(/(?:^[ \t]*(?:\/\/|\/\*\*?|\*(?!\/)).*\n?)+|(?<=[;,{(\])>] )\/\/ .*$/gm)].map(
    ([text]) =>
      text
        .replaceAll(/^[ \t]*(?:\/\/|\/\*\*?|\*)|\*\/$/gm, "")
        .replaceAll(/`[^`]*`|"[^"]*"/g, "` `")
        .replaceAll(/\s+/g, " ")
        .trim(),
  );
  const names = [...source.matchAll(/(?:\b(?:test|it|describe)(?:\.\w+)*|\))\(\s*"((?:[^"\\\n]|\\.)*)",/g)];
  return [...comments, ...names.map((match) => match[1] ?? "")];
}

function pythonRemarksOf(source: string): string[] {
  const found = [/# (.*)/g, /"""([\s\S]*?)"""/g].flatMap((pattern) => [...source.matchAll(pattern)]);
  return found.map((match) =>
    (match[1] ?? "")
      .replaceAll(/`[^`]*`|"[^"]*"/g, "` `")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
