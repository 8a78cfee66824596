import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { describe, expect, test } from "vitest";
import { runCli } from "./testing/fake-context.ts";

const CHECKOUT = findCheckout(import.meta.dirname);
const PAGES = ["README.md", ...readdirSync(join(CHECKOUT, "docs")).map((name) => join("docs", name))].filter((name) =>
  name.endsWith(".md"),
);
/** Error texts for unknown commands, before anything is executed. */
const NOT_OURS = /No command named|See the usage/;
const NO_COMMAND = /No command named/;

interface Printed {
  readonly place: string;
  readonly words: readonly string[];
}

const printed = PAGES.flatMap((page) =>
  readFileSync(join(CHECKOUT, page), "utf8")
    .split("\n")
    .map((text, at) => ({ text, place: `${page}:${at + 1}` })),
);
/** Command lines without their `#` comments. */
const lines = printed.flatMap(({ place, text }): Printed[] => {
  const typed = /^ *(?:\$ |\.\/)?cli ((?:"[^"]*"|[^#|"])*?)(?:\s+#.*)?$/.exec(text)?.[1];
  return typed === undefined ? [] : [{ place, words: split(typed) }];
});
/** Commands named in sentences, often without arguments. */
const named = printed.flatMap(({ place, text }): Printed[] =>
  [...text.matchAll(/`cli ([a-z-]+(?: [a-z-]+)?)\b[^`]*`/g)].map(([, words = ""]) => ({ place, words: split(words) })),
);

function split(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
}

async function findWrong(all: readonly Printed[], wrong: RegExp): Promise<string[]> {
  const found: string[] = [];
  for (const { place, words } of all) {
    const { stderr } = await runCli(words);
    if (wrong.test(stderr)) found.push(`${place}: cli ${words.join(" ")}: ${stderr}`);
  }
  return found;
}

describe("the documents print", () => {
  test("valid command lines", async () => {
    expect(lines.length).toBeGreaterThan(80);
    expect(await findWrong(lines, NOT_OURS)).toEqual([]);
  }, 30_000);

  test("names of existing commands", async () => {
    expect(named.length).toBeGreaterThan(50);
    expect(await findWrong(named, NO_COMMAND)).toEqual([]);
  }, 30_000);
});
