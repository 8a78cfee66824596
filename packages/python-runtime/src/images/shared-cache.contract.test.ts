import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sourceFiles } from "./testing/package-index.ts";
import { ask, openTestBuilds, type TestBuilds } from "./testing/test-builds.ts";

let builds: TestBuilds;

beforeEach(async () => {
  builds = await openTestBuilds();
});

afterEach(async () => {
  await builds[Symbol.asyncDispose]();
});

test("fetches shareable packages once without running package code", async () => {
  const ran = join(builds.folder, "ran");
  const files = { "tiny.py": "version = 1\n", "tiny.pth": `import os; open(${JSON.stringify(ran)}, "w")\n` };
  builds.publish({ name: "tiny", files });
  const lock = await builds.locked(["tiny"]);
  const first = await builds.build({ files: lock, options: builds.shared() });
  expect(first.is_shared).toBe(true);
  expect(existsSync(ran)).toBe(false);
  const fetched = builds.index.asked.filter((path) => path.startsWith("/files/")).length;
  const second = await builds.build({ files: lock, options: builds.shared(), org: "two" });
  expect(second.is_shared).toBe(true);
  expect(builds.index.asked.filter((path) => path.startsWith("/files/"))).toHaveLength(fetched);
  const [one, two] = [first, second].map((image) => statSync(ask(image, "import tiny; print(tiny.__file__)")).ino);
  expect(one).toBe(two);
  const cached = (image: { folder: string }) => statSync(ask(image, "import tiny; print(tiny.__cached__)")).ino;
  expect(cached(second)).toBe(cached(first));
  // the compiled code does not reveal the first organization
  expect(readFileSync(ask(second, "import tiny; print(tiny.__cached__)"), "latin1")).not.toContain(builds.folder);
  const secrets = { UV_INDEX_A_PASSWORD: "word" };
  await builds.build({ files: lock, options: builds.shared(), org: "three", secrets });
  expect(builds.tasks.filter(({ env }) => "UV_INDEX_A_PASSWORD" in env)).toEqual([]);
});

test("a lock with false package data does not affect others", async () => {
  builds.publish({ name: "tiny", files: { "tiny.py": "good = True\n" } });
  const lock = await builds.locked(["tiny"]);
  const evil = builds.publish({ name: "tiny", files: { "tiny.py": "good = False\n" } }, "evil");
  const digest = createHash("sha256").update(readFileSync(evil)).digest("hex");
  // simulates an index that served another file under the same address
  const good = readFileSync(join(builds.folder, "packages", "tiny-1.0-py3-none-any.whl"));
  writeFileSync(join(builds.folder, "packages", "tiny-1.0-py3-none-any.whl"), readFileSync(evil));
  const lie = (lock["uv.lock"] ?? "").replace(/sha256:[0-9a-f]{64}/g, `sha256:${digest}`).replace(/, size = \d+/g, "");
  const attacker = await builds.build({
    files: { ...lock, "uv.lock": lie },
    options: builds.shared(),
    org: "attacker",
  });
  expect(ask(attacker, "import tiny; print(tiny.good)")).toBe("False");
  writeFileSync(join(builds.folder, "packages", "tiny-1.0-py3-none-any.whl"), good);
  const victim = await builds.build({ files: lock, options: builds.shared(), org: "victim" });
  expect(ask(victim, "import tiny; print(tiny.good)")).toBe("True");
  // a lock with another hash than the file's gets no file
  const wrong = (lock["uv.lock"] ?? "").replace(/sha256:[0-9a-f]{64}/g, `sha256:${"0".repeat(64)}`);
  await expect(
    builds.build({ files: { ...lock, "uv.lock": wrong }, options: builds.shared(), org: "other" }),
  ).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringMatching(/tiny.*hash mismatch/is),
  });
});

test("an unusable shared cache fails no build", async () => {
  builds.publish({ name: "tiny" });
  // a file where the cache's folder belongs
  writeFileSync(join(builds.folder, "shared"), "");
  const image = await builds.build({ files: await builds.locked(["tiny"]), options: builds.shared() });
  expect(image).toMatchObject({ is_shared: false, packages: [{ name: "tiny" }] });
  expect(builds.troubles).toMatchObject([{ code: "EEXIST" }]);
});

test("keeps source builds within the organization", async () => {
  const ran = join(builds.folder, "ran");
  builds.publish({
    name: "source",
    kind: "source",
    files: sourceFiles("source", "1.0", `open(${JSON.stringify(ran)}, 'a').write(os.environ['UV_CACHE_DIR'] + '\\n')`),
  });
  builds.publish({ name: "tiny" });
  const options = builds.shared();
  const built = await builds.build({ files: await builds.locked(["tiny", "source"]), options });
  expect(built.is_shared).toBe(false);
  expect(readFileSync(ran, "utf8").trim()).toBe(join(builds.folder, "caches", "one"));
  const inode = (image: { folder: string }) => statSync(ask(image, "import tiny; print(tiny.__file__)")).ino;
  const clean = await builds.build({ files: await builds.locked(["tiny"]), options });
  expect(clean.is_shared).toBe(true);
  expect(inode(clean)).not.toBe(inode(built));
});
