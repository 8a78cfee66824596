import { expect, test } from "vitest";
import { isShareable } from "./lock-sources.ts";

const INDEX = { url: "https://index.example.com/simple", file_origins: ["https://files.example.com"] };
const HASH = `sha256:${"a".repeat(64)}`;
const FILE = `{ url = "https://files.example.com/a/tiny-1-py3-none-any.whl", hash = "${HASH}", size = 1 }`;

function lock(source: string, more = `wheels = [\n    ${FILE},\n]`): string {
  return `version = 1\n\n[[package]]\nname = "thing"\nversion = "1"\nsource = { virtual = "." }\n\n[[package]]\nname = "tiny"\nversion = "1"\nsource = ${source}\n${more}\n`;
}

function isShared(text: string, index: typeof INDEX, uvOptions: string | null = null): boolean {
  return isShareable({ files: [{ path: "uv.lock", text }], source: "uv.lock", uv_options: uvOptions }, index);
}

test("shares a lock whose files all come from the index with hashes", () => {
  for (const url of ["https://index.example.com/simple", "https://index.example.com/simple/"]) {
    expect(isShared(lock(`{ registry = "${url}" }`), INDEX)).toBe(true);
  }
  const own = FILE.replace("files.example.com", "index.example.com");
  expect(isShared(lock('{ registry = "https://index.example.com/simple" }', `sdist = ${own}`), INDEX)).toBe(true);
  expect(isShared("version = 1\n", INDEX)).toBe(true);
});

test("keeps any other lock within its organization", () => {
  const registry = '{ registry = "https://index.example.com/simple" }';
  const others = [
    lock('{ registry = "https://other.example.com/simple" }'),
    lock('{ registry = "wheels" }'),
    lock('{ git = "https://example.com/tiny?rev=1#2" }', ""),
    lock('{ url = "https://files.example.com/tiny-1.tar.gz" }', ""),
    lock('{ path = "tiny-1.tar.gz" }', ""),
    lock('{ directory = "libs/tiny" }', ""),
    lock('{ editable = "libs/tiny" }', ""),
    lock('{ registry = "https://index.example.com/simple", git = "x" }'),
    lock(registry, `wheels = [${FILE.replace("https://files.example.com", "https://evil.example.com")}]`),
    lock(registry, `wheels = [${FILE.replace("https://files", "https://me:word@files")}]`),
    lock(registry, `wheels = [${FILE.replace("https://files.example.com", "https://files.example.com.evil.org")}]`),
    lock(registry, `wheels = [${FILE.replace(HASH, "md5:abc")}]`),
    lock(registry, `wheels = [{ url = "https://files.example.com/a.whl" }]`),
    lock(registry, `wheels = [{ path = "a.whl", hash = "${HASH}" }]`),
    lock(registry, `sdist = ${FILE.replace("https:", "http:")}`),
    "version = 1\n[[package]]\nname = 'a'\n",
    "package = 1\n",
    "invalid TOML",
  ];
  for (const text of others) expect(isShared(text, INDEX), text).toBe(false);
});

test("keeps requirements files and options with other sources within their organization", () => {
  const good = lock('{ registry = "https://index.example.com/simple" }');
  expect(isShared(good, INDEX, "--extra web --no-dev")).toBe(true);
  expect(isShared(good, INDEX, "--index https://other.example.com")).toBe(false);
  const files = [{ path: "uv.lock", text: good }];
  expect(isShareable({ files, source: "requirements.txt", uv_options: null }, INDEX)).toBe(false);
});
