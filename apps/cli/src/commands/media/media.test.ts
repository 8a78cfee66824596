import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { AppError, appError } from "@appdb/contract/errors";
import { objectKey } from "@appdb/contract/media-uri";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ControlAccess } from "../../context.ts";
import { type FakeContext, runCli } from "../../testing/fake-context.ts";

const HOME = "mediafs://acme:main/home";

let folder: string;
/** Names with their content. */
let store: Map<string, Buffer>;
let puts: string[];
/** Objects that nothing refers to. */
let unused = 0;
/** Statuses that the next requests to addresses get. */
let failures: number[];
let server: Server;
let origin: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-cp-"));
  [store, puts, failures] = [new Map(), [], []];
  server = createServer(async (request, response) => {
    const name = decodeURIComponent((request.url ?? "").slice(1));
    const failure = failures.shift();
    if (failure !== undefined) {
      request.resume();
      return void response.writeHead(failure).end();
    }
    if (request.method === "PUT") {
      const content = await buffer(request);
      puts.push(`${name} ${request.headers["content-length"]}`);
      store.set(name, content);
      return void response.writeHead(201).end("{}");
    }
    response.writeHead(200).end(store.get(name));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

function entryOf(name: string, content: Buffer) {
  return {
    name,
    is_folder: false,
    files: 1,
    bytes: content.length,
    type: "image/jpeg",
    sha256: hashOf(content),
    updated_at: "2026-11-26T05:00:00.000Z",
  };
}

const below = (name: string) => [...store].filter(([key]) => name === "" || key === name || key.startsWith(`${name}/`));

// biome-ignore lint/suspicious/noExplicitAny: the answers of the test's own routes
const ANSWERS: Readonly<Record<string, (input: any) => unknown>> = {
  mediaList: ({ query }) => ({ items: below(query.name).map(([name, content]) => entryOf(name, content)), next: null }),
  mediaUsage: ({ query }) => {
    const files = below(query.name).map(([name, content]) => entryOf(name, content));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const stored = { objects: 9, bytes: 2048 };
    return { files: files.length, bytes, entries: files, stored, room_bytes: 1024 ** 3, room_of: "media_gb" };
  },
  mediaRemove: ({ body }) => {
    const gone = [...body.names, ...(body.folder === undefined ? [] : below(body.folder).map(([name]) => name))];
    const missing = gone.filter((name) => !store.delete(name));
    return { removed: gone.length - missing.length, missing };
  },
  mediaPrune: ({ body }) => {
    const found = { objects: unused, bytes: unused * 1_024 };
    if (body.dry_run !== true) unused = 0;
    return found;
  },
  mediaRead: ({ body }) => ({
    files: body.names.map((name: string) => {
      const content = store.get(name);
      if (content === undefined) throw appError("media_not_found", { detail: `${HOME} has no file "${name}".` });
      const { bytes, sha256, type } = entryOf(name, content);
      return {
        name,
        bytes,
        sha256,
        type,
        key: objectKey(sha256, "jpg"),
        address: `${origin}/${encodeURIComponent(name)}`,
      };
    }),
  }),
  mediaWrite: ({ body }) => ({
    files: body.files.map(({ bytes, name, sha256 }: { name: string; bytes: number; sha256: string }) => {
      const same = [...store].find(([, content]) => hashOf(content) === sha256);
      if (same === undefined)
        return { stored: null, is_same: false, replaces: false, address: `${origin}/${encodeURIComponent(name)}` };
      const isSame = store.get(name) !== undefined && hashOf(store.get(name) as Buffer) === sha256;
      store.set(name, same[1]);
      return {
        stored: { name, bytes, sha256, type: "image/jpeg", key: "k" },
        is_same: isSame,
        replaces: false,
        address: null,
      };
    }),
  }),
};

const control = async () =>
  ({
    open: async () => ({ client: { call: async (name: string, input: object) => ANSWERS[name]?.(input) } }),
  }) as unknown as ControlAccess;

const media = (words: readonly string[], given: FakeContext = {}) =>
  runCli(["media", ...words], { cwd: folder, ...given, context: { control, ...given.context } });

function write(path: string, content: string): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), content);
}

test("cp copies a file into a folder or under a name, and sends equal content once", async () => {
  write("holiday.jpg", "sea");
  expect((await media(["cp", "holiday.jpg", `${HOME}/pictures/`])).stdout).toBe("Copied 1 file (3 B).\n");
  const second = await media(["cp", "holiday.jpg", `${HOME}/写真 1.jpg`]);
  expect([second.exit, second.stdout]).toEqual([0, "Copied 1 file (3 B, already stored).\n"]);
  expect([...store.keys()]).toEqual(["pictures/holiday.jpg", "写真 1.jpg"]);
  expect(puts).toEqual(["pictures/holiday.jpg 3"]);
  const again = await media(["cp", "holiday.jpg", `${HOME}/pictures/`, "--json"]);
  expect(JSON.parse(again.stdout)).toEqual({ copied: 0, skipped: 1, bytes: 0, stored_bytes: 0 });
});

test("cp -r copies folders up and down, and skips what is there", async () => {
  for (const [path, content] of [
    ["a/1.jpg", "one"],
    ["a/b/2.jpg", "two"],
    ["a/.hidden", "three"],
  ])
    write(path as string, content as string);
  symlinkSync("/etc/passwd", join(folder, "a", "link"));
  const up = await media(["cp", "-r", "a", `${HOME}/pictures`]);
  expect(up.stdout).toBe("Copied 3 files (11 B).\n");
  expect(up.stderr).toContain("1 entries are neither files nor folders, and were left out");
  expect([...store.keys()].sort()).toEqual(["pictures/.hidden", "pictures/1.jpg", "pictures/b/2.jpg"]);
  write("down/1.jpg", "one");
  const down = await media(["cp", "-r", `${HOME}/pictures`, "down"]);
  expect(down.stdout).toBe("Copied 2 files (8 B), 1 had the same content.\n");
  expect(readFileSync(join(folder, "down", "b", "2.jpg"), "utf8")).toBe("two");
  expect(readdirSync(join(folder, "down")).sort()).toEqual([".hidden", "1.jpg", "b"]);
});

test.each([
  ["pictures/1.jpg", "xxxxxxxxx../.bashrc"],
  ["pictures/1.jpg", "pictures/2.jpg"],
  ["xxxxxxxxx../.bashrc", "xxxxxxxxx../.bashrc"],
  ["pictures/../../.bashrc", "pictures/../../.bashrc"],
])("cp -r refuses a file that was not asked for: %s, %s", async (listed, answered) => {
  mkdirSync(join(folder, "work"));
  for (const name of [listed, answered]) store.set(name, Buffer.from("evil"));
  const hostile = async () =>
    ({
      open: async () => ({
        client: {
          call: async (route: string) =>
            route === "mediaList"
              ? { items: [entryOf(listed, Buffer.from("evil"))], next: null }
              : ANSWERS.mediaRead?.({ body: { names: [answered] } }),
        },
      }),
    }) as unknown as ControlAccess;
  const { exit, stderr } = await media(["cp", "-r", `${HOME}/pictures`, "work/copies"], {
    context: { control: hostile },
  });
  expect([exit, stderr.slice(0, 6)]).toEqual([1, "error:"]);
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual(["work"]);
});

test("cp -r says how much of the files was already stored", async () => {
  store.set("1.jpg", Buffer.from("one"));
  write("a/1.jpg", "one");
  write("a/2.jpg", "longer");
  expect((await media(["cp", "-r", "a", `${HOME}/b`])).stdout).toBe(
    "Copied 2 files (9 B, 3 B of it already stored).\n",
  );
});

test("cp tries again after a busy server, and leaves no draft after a refusal", async () => {
  write("a.jpg", "sea");
  failures = [503];
  expect((await media(["cp", "a.jpg", `${HOME}/a.jpg`])).stdout).toBe("Copied 1 file (3 B).\n");
  failures = [403];
  const refused = await media(["cp", `${HOME}/a.jpg`, "copies/"]);
  expect([refused.exit, refused.stderr]).toEqual([1, expect.stringContaining("answered 403")]);
  expect(readdirSync(join(folder, "copies"))).toEqual([]);
});

test("cp removes what a killed cp left in a folder, and nothing of a running one", async () => {
  store.set("a/1.jpg", Buffer.from("one"));
  mkdirSync(join(folder, "out"));
  const ended = spawnSync(process.execPath, ["-e", ""]).pid;
  const parts = [`1.jpg.${ended}-0123456789ab.part`, `2.jpg.${process.pid}-0123456789ab.part`, "3.jpg.part"];
  const stays = ["1.jpg", parts[1], parts[2]];
  for (const again of [
    ["a/1.jpg", "out/"],
    ["-r", "a", "out"],
  ]) {
    for (const name of parts) writeFileSync(join(folder, "out", name), "half");
    const ran = await media(["cp", ...again.map((part) => (part.startsWith("a") ? `${HOME}/${part}` : part))]);
    expect([ran.exit, readdirSync(join(folder, "out")).sort()]).toEqual([0, stays]);
  }
});

test("cp within a store moves no bytes, and between stores it names the way", async () => {
  store.set("a.jpg", Buffer.from("sea"));
  const copy = await media(["cp", `${HOME}/a.jpg`, `${HOME}/b/`]);
  expect([copy.exit, copy.stdout]).toEqual([0, "Copied 1 file (3 B, already stored).\n"]);
  expect([[...store.keys()], puts]).toEqual([["a.jpg", "b/a.jpg"], []]);
  const other = await media(["cp", `${HOME}/a.jpg`, "mediafs://acme:other/home/"]);
  expect([other.exit, other.stderr]).toEqual([
    2,
    expect.stringContaining(`hint: Copy to this machine first: cli media cp ${HOME}/a.jpg copies/`),
  ]);
});

test("cp names the next step for a missing file, a folder, and two paths of this machine", async () => {
  write("a/1.jpg", "one");
  const of = async (...words: string[]) => {
    const { exit, stderr } = await media(["cp", ...words]);
    return `${exit} ${stderr}`;
  };
  expect(await of("none.jpg", `${HOME}/`)).toContain("1 error: There is no file none.jpg on this machine.");
  expect(await of("a", `${HOME}/b`)).toContain(
    `2 error: a is a folder.\nhint: Copy all of its files: cli media cp -r a ${HOME}/b`,
  );
  expect(await of(`${HOME}/b/`, "x")).toContain("2 error: mediafs://acme:main/home/b is a folder.");
  expect(await of(`${HOME}/none.jpg`, "x")).toContain('1 error: mediafs://acme:main/home has no file "none.jpg".');
  expect(await of("-r", `${HOME}/none`, "x")).toContain("1 error: mediafs://acme:main/home/none does not exist.");
  expect(await of("a", "b")).toContain("2 error: Neither a nor b is in a media store.");
  expect(await of("a/1.jpg", `${HOME}/../x`)).toContain("1 error:");
});

test("cp of one file keeps its name in a folder that the store has, and names -r for a folder", async () => {
  write("my photo.jpg", "sea");
  store.set("b/1.jpg", Buffer.from("one"));
  const of = async (...words: string[]) => (await media(["cp", ...words])).stderr;
  expect(await of("my photo.jpg", `${HOME}/b`)).toBe("");
  expect(await of(`${HOME}/b/1.jpg`, HOME)).toBe("");
  expect([...store.keys()]).toEqual(["b/1.jpg", "b/my photo.jpg", "1.jpg"]);
  expect(await of(`${HOME}/b`, "x y")).toContain(`hint: Copy all of its files: cli media cp -r ${HOME}/b 'x y'`);
  expect(await of(`${HOME}/b`, `${HOME}/c`)).toContain(`cli media cp -r ${HOME}/b ${HOME}/c`);
  expect(await of("my photo.jpg", "x")).toContain(
    "cli media cp 'my photo.jpg' mediafs://acme:main/home/, or mediafs://main/home/ of a local database",
  );
});

test("cp onto itself skips files, and a folder is not copied into itself", async () => {
  store.set("b/1.jpg", Buffer.from("one"));
  for (const words of [
    ["-r", `${HOME}/b`, `${HOME}/b/`],
    [`${HOME}/b/1.jpg`, `${HOME}/b/1.jpg`],
  ]) {
    const same = await media(["cp", ...words, "--json"]);
    expect(JSON.parse(same.stdout)).toEqual({ copied: 0, skipped: 1, bytes: 0, stored_bytes: 0 });
  }
  for (const from of [`${HOME}/b`, HOME]) {
    const inside = await media(["cp", "-r", from, `${HOME}/b/c`]);
    expect([inside.exit, inside.stderr]).toEqual([2, expect.stringContaining("cannot be copied into itself")]);
  }
  expect((await media(["cp", "-r", `${HOME}/none`, `${HOME}/c`])).stderr).toContain("does not exist");
});

test("cp refuses '-', and a file where this machine has a folder", async () => {
  store.set("b", Buffer.from("one"));
  write("x/b/1.jpg", "two");
  const stream = await media(["cp", `${HOME}/b`, "-"]);
  expect([stream.exit, stream.stderr]).toEqual([2, expect.stringContaining(`cli media cp ${HOME}/b FILE`)]);
  const taken = await media(["cp", "-r", HOME, "x"]);
  expect([taken.exit, taken.stderr]).toEqual([3, expect.stringContaining("cannot be written")]);
  expect(readdirSync(join(folder, "x"))).toEqual(["b"]);
  store = new Map([
    ["b/1.jpg", Buffer.from("one")],
    ["b/c/1.jpg", Buffer.from("one")],
  ]);
  write("y/b", "a file where the store has a folder");
  for (const from of [HOME, `${HOME}/b/c`]) {
    const blocked = await media(["cp", "-r", from, from === HOME ? "y" : "y/b"]);
    expect([blocked.exit, blocked.stderr]).toEqual([3, expect.stringContaining("cannot be written")]);
  }
});

test("du names a missing folder, and an empty store is removed without a question", async () => {
  expect((await media(["du", `${HOME}/none`])).stderr).toContain("mediafs://acme:main/home/none does not exist");
  expect((await media(["rm", "-r", HOME])).stdout).toBe("Removed 0 files.\n");
});

test("ls and du print files, and JSON for programs", async () => {
  store.set("a.jpg", Buffer.alloc(2048));
  expect((await media(["ls", HOME])).stdout).toBe("2.0 KiB  2026-11-26 05:00  image/jpeg  a.jpg\n");
  expect(JSON.parse((await media(["ls", "-r", HOME, "--json"])).stdout)).toMatchObject([
    { name: "a.jpg", bytes: 2048 },
  ]);
  expect((await media(["ls", `${HOME}/none`])).stderr).toContain(
    "hint: List the store: cli media ls -r mediafs://acme:main/home",
  );
  expect((await media(["du", HOME])).stdout).toContain(
    "The store holds 2.0 KiB in 9 objects, room for 1.0 GiB (media_gb).",
  );
  expect((await media(["ls", "cloud://acme:main"])).stderr).toContain("hint: Write: mediafs://acme:main/home");
  expect((await media(["ls", "pictures"])).stderr).toContain(
    "hint: Write: mediafs://main/home, or mediafs://acme:main/home of a hosted database",
  );
  expect((await media(["ls", "mediafs://main"])).stderr).toContain("hint: Write for example: mediafs://main/home/");
  expect((await media(["ls", "mediafs://main/reports/home"])).stderr).toContain("expected mediafs://");
});

test("ls of a store with files of rows alone says how to list them", async () => {
  const ran = await media(["ls", HOME]);
  expect([ran.exit, ran.stdout]).toEqual([0, "No files.\n"]);
  expect(ran.stderr).toBe(`The store holds 9 objects, such as files of rows: cli media ls --objects ${HOME}\n`);
  expect((await media(["ls", "--objects", HOME])).stderr).toBe("");
});

test("rm asks before it removes a folder, and names what is missing", async () => {
  for (const name of ["a.jpg", "b/1.jpg", "b/2.jpg"]) store.set(name, Buffer.from(name));
  expect((await media(["rm", `${HOME}/a.jpg`])).stdout).toBe("Removed 1 file.\n");
  expect((await media(["rm", `${HOME}/a.jpg`])).stderr).toContain("does not exist");
  expect((await media(["rm", `${HOME}/b`])).stderr).toContain(
    `hint: Remove it with everything in it: cli media rm -r --yes ${HOME}/b`,
  );
  const asked = await media(["rm", "-r", `${HOME}/b`]);
  expect([asked.exit, asked.stderr]).toEqual([3, expect.stringContaining("Remove 2 files (14 B)")]);
  expect((await media(["rm", "-r", `${HOME}/b`], { answer: true })).stdout).toBe("Removed 2 files.\n");
  expect(store.size).toBe(0);
  store.set("b/3.jpg", Buffer.from("3"));
  expect((await media(["rm", "-r", "-f", `${HOME}/b`])).stdout).toBe("Removed 1 file.\n");
});

test("prune shows what it would free, asks, and frees it", async () => {
  unused = 3;
  const shown = await media(["prune", HOME, "-n"]);
  expect([shown.exit, shown.stdout]).toEqual([2, "Would free 3 files (3.0 KiB).\n"]);
  const asked = await media(["prune", HOME]);
  expect([asked.exit, asked.stderr]).toEqual([3, expect.stringContaining(`cli media prune -f ${HOME}`)]);
  expect(unused).toBe(3);
  expect(JSON.parse((await media(["prune", HOME, "-f", "--json"])).stdout)).toEqual({ objects: 3, bytes: 3_072 });
  expect((await media(["prune", HOME])).stdout).toContain("Nothing to free");
  expect((await media(["prune", `${HOME}/pictures`])).stderr).toContain(
    `hint: Name the whole store: cli media prune ${HOME}`,
  );
});

test("a store that the caller may not see gives the server's error", async () => {
  const refuse = async () =>
    ({
      open: async () => ({
        client: {
          call: () =>
            Promise.reject(
              new AppError("organization_not_found", { detail: 'You do not belong to an organization "other".' }),
            ),
        },
      }),
    }) as unknown as ControlAccess;
  const { exit, stderr } = await media(["ls", "mediafs://other:main/home"], { context: { control: refuse } });
  expect([exit, stderr]).toEqual([1, expect.stringContaining('You do not belong to an organization "other".')]);
});

test("what a hostile server says does not control the terminal", async () => {
  const [clear, entry] = ["\x1b[2J", entryOf("a.jpg", Buffer.from("one"))];
  const saying = (answer: () => object) => async () =>
    ({ open: async () => ({ client: { call: async () => answer() } }) }) as unknown as ControlAccess;
  const items = [{ ...entry, type: clear, updated_at: `${clear}2026` }];
  const listed = await media(["ls", HOME], { context: { control: saying(() => ({ items, next: null })) } });
  const refuse = () => {
    throw new AppError("forbidden", { detail: `No.\n${clear}`, hint: clear });
  };
  const refused = await media(["ls", HOME], { context: { control: saying(refuse) } });
  expect(listed.stdout).toContain("\\u001b[2J");
  expect(refused.stderr).toBe("error: No.\n\\u001b[2J\nhint: \\u001b[2J\n");
  expect(listed.stdout + listed.stderr).not.toContain("\x1b");
});
