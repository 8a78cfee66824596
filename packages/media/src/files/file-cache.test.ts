import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FileCache, type Validators } from "./file-cache.ts";

let folder: string;
let now: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-cache-"));
  now = Date.now();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (maxBytes = 1_000_000) => new FileCache({ folder, owner: "test", max_bytes: maxBytes, now: () => now });
const text = (path: string) => readFileSync(path, "utf8");
const minutes = (count: number): void => {
  now += count * 60_000 + 1;
};

/** A source whose content and tag a test changes. It fails while it has none. */
class Source {
  content: string | undefined = "one";
  asked: (Validators | undefined)[] = [];

  readonly fetch = async (path: string, known: Validators | undefined) => {
    this.asked.push(known);
    if (this.content === undefined) throw new Error("no answer");
    if (known?.etag === this.content) return undefined;
    writeFileSync(path, this.content);
    return { version: this.content, etag: this.content };
  };
}

describe("content that may change", () => {
  test("is compared once a minute, and given by another path when it has changed", async () => {
    const [cache, source] = [open(), new Source()];
    const first = await cache.current("a", source.fetch);
    source.content = "two";
    expect(await cache.current("a", source.fetch)).toBe(first);
    minutes(1);
    const second = await cache.current("a", source.fetch);
    expect([text(first), text(second)]).toEqual(["one", "two"]);
    minutes(1);
    expect(await cache.current("a", source.fetch)).toBe(second);
    expect(source.asked.map((known) => known?.etag)).toEqual([undefined, "one", "two"]);
  });

  test("that has gone is an error, and is found again later", async () => {
    const [cache, source] = [open(), new Source()];
    const first = await cache.current("a", source.fetch);
    source.content = undefined;
    minutes(1);
    await expect(cache.current("a", source.fetch)).rejects.toThrow("no answer");
    await expect(cache.current("a", source.fetch)).rejects.toThrow("no answer");
    source.content = "one";
    expect(await cache.current("a", source.fetch)).toBe(first);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("is known to other programs of the folder", async () => {
    const source = new Source();
    const first = await open().current("a", source.fetch);
    expect(await open().current("a", source.fetch)).toBe(first);
    expect(source.asked).toHaveLength(1);
  });

  test.each(["", "{", "null", '{"file":"../../etc/passwd","compared_ms":9e15}', '{"file":7}', '{"file":"a"}:"b"}'])(
    "is fetched again when what is known of it is damaged: %s",
    async (damaged) => {
      const source = new Source();
      const first = await open().current("a", source.fetch);
      const index = readdirSync(folder).find((name) => name.endsWith(".json")) ?? "";
      writeFileSync(join(folder, index), damaged);
      expect(await open().current("a", source.fetch)).toBe(first);
      expect(source.asked).toEqual([undefined, undefined]);
    },
  );

  test("is fetched again when its file was removed, or the clock was set back", async () => {
    const source = new Source();
    const first = await open().current("a", source.fetch);
    rmSync(first);
    const cache = open();
    expect(text(await cache.current("a", source.fetch))).toBe("one");
    now -= 3_600_000;
    await cache.current("a", source.fetch);
    expect(source.asked.map((known) => known?.etag)).toEqual([undefined, undefined, "one"]);
  });

  test("is fetched once for all that wait", async () => {
    const [cache, source] = [open(), new Source()];
    const paths = await Promise.all(Array.from({ length: 5 }, () => cache.current("a", source.fetch)));
    expect([new Set(paths).size, source.asked.length]).toEqual([1, 1]);
  });
});

test("a fetch that ends with its own request does not fail others that wait", async () => {
  const cache = open();
  const leaving = new AbortController();
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const hang = () =>
    new Promise((_resolve, reject) => {
      leaving.signal.addEventListener("abort", () => reject(leaving.signal.reason));
      begin();
    });
  const first = cache.get("a", hang, leaving.signal);
  await begun;
  const second = cache.get("a", async (path) => writeFileSync(path, "content"), new AbortController().signal);
  await new Promise((resolve) => setTimeout(resolve, 50));
  leaving.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  expect(text(await second)).toBe("content");
});

test("files that were used least recently go first, and what is known of them too", async () => {
  const source = new Source();
  const cache = open(5);
  const first = await cache.current("a", source.fetch);
  minutes(20);
  await cache.get("b", async (path) => writeFileSync(path, "longer content"));
  expect(existsSync(first)).toBe(false);
  expect(text(await cache.current("a", source.fetch))).toBe("one");
});
