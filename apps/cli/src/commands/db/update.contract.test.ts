import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CallAnswer } from "@appdb/contract/control-client";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Answers,
  type Asked,
  type ControlServer,
  HANG_UP,
  startControlServer,
} from "../../testing/control-server.ts";
import { type ControlWorld, openControlWorld, type RunWith } from "../../testing/control-world.ts";
import { changeOf, DATABASE, DONE, logLine } from "../../testing/databases.ts";

type Plan = CallAnswer<"databasePlan">;
const MIB = 1024 * 1024;
const URI = "cloud://acme:main";
const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let world: ControlWorld;
let server: ControlServer;
let answers: { -readonly [Name in keyof Answers]: Answers[Name] };
/** Blobs that the service has. */
let stored: Map<string, Buffer>;
let plan: Partial<Plan>;

/** A server that keeps blobs and plans by what is missing, as the real one does. */
beforeEach(async () => {
  world = openControlWorld();
  stored = new Map();
  plan = {};
  answers = {
    databasePlan: ({ body }) => planOf(body),
    blobMissing: ({ body }) => ({ missing: body.digests.filter((digest: string) => !stored.has(digest)) }),
    blobUpload: ({ body }) => store(body),
    databaseUpdate: () => changeOf("database.update", { state: "UPDATING" }),
    operationShow: () => DONE,
    operationLog: async function* () {},
    databaseShow: () => ({ ...DATABASE, generation: 2 }),
  };
  server = await startControlServer({ answers });
});
afterEach(async () => {
  world[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

function planOf(body: Asked["body"]): Plan {
  const missing = body.files.filter((file: { chunks: string[] }) => file.chunks.some((chunk) => !stored.has(chunk)));
  const op = {
    ...({ target: "files", op: "upload", severity: "additive", requires_restart: false, details: {} } as const),
    description: `the project files will be uploaded: ${missing.length} changed`,
    lines: [],
  };
  const ops = missing.length === 0 ? [] : [op];
  return {
    ...{ uri: URI, exists: true, state: "AVAILABLE", generation: 1, warnings: [] },
    resolution: ops.length === 0 ? "up_to_date" : "update",
    ops,
    missing_files: missing.length,
    missing_bytes: 0,
    in_agreement: ops.length === 0,
    summary: { ops: ops.length, destructive: 0, rebuild: false, restarts: false },
    ...plan,
  };
}

function store(blobs: Map<string, Buffer>) {
  for (const [digest, bytes] of blobs) {
    expect(sha256(bytes)).toBe(digest);
    stored.set(digest, bytes);
  }
  return { stored: blobs.size, bytes: 0 };
}

const run = (words: string | readonly string[], more: RunWith = {}) =>
  world.run(words, { ...more, env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sk_x" } });
const asked = () => server.asked.map(({ name }) => name);
const bodyOf = (name: string) => server.asked.findLast((each) => each.name === name)?.body;
const write = (files: Record<string, string | Buffer>) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(world.project, path)), { recursive: true });
    writeFileSync(join(world.project, path), text);
  }
};
const project = () =>
  write({ "service.toml": `[[service.database]]\nname = "${URI}"\ncpu = 2\n`, "app.py": "x = 1\n" });
const sent = () => bodyOf("databasePlan").files.map(({ path }: { path: string }) => path);

describe("cli db diff", () => {
  test("shows the plan, uploads nothing, and exits 2 while something is pending", async () => {
    project();
    plan = {
      resolution: "create",
      exists: false,
      state: "absent",
      ops: [
        {
          ...{ target: "image", op: "build", severity: "additive", requires_restart: true, details: {} },
          description: "the image will be built: uv.lock changed",
          lines: ["uv.lock: + iniconfig 2.3.1", ...Array.from({ length: 30 }, (_, at) => `uv.lock: + p${at} 1`)],
        },
        {
          ...{ target: "resources", op: "change", severity: "destructive", requires_restart: true, details: {} },
          ...{ description: "memory_mb will be 512 rather than 1024", lines: [] },
        },
      ],
      in_agreement: false,
      summary: { ops: 2, destructive: 1, rebuild: true, restarts: true },
    };
    const ran = await run(`db diff ${URI}`);
    expect(ran.exit).toBe(2);
    expect(ran.stdout).toContain(
      "+ cloud://acme:main         will be created (DESTRUCTIVE)  absent\n    ~ the image will be built: uv.lock changed  [safe]\n        uv.lock: + iniconfig 2.3.1\n",
    );
    expect(ran.stdout).toContain("        ... and 11 more\n");
    expect(ran.stdout).toContain(
      "    ~ memory_mb will be 512 rather than 1024  [DESTRUCTIVE]\n\nPlan: 2 change(s), 1 destructive\n",
    );
    expect(asked()).toEqual(["databasePlan"]);
    expect(bodyOf("databasePlan")).toMatchObject({
      settings: { cpu: 2 },
      files: [{ path: "app.py", size: 6, is_executable: false, chunks: [sha256("x = 1\n")], link: null }],
      environment: { source: null },
    });
  });

  test("exits 0 where there is nothing to do; --json is the plan with its warnings", async () => {
    project();
    stored.set(sha256("x = 1\n"), Buffer.of());
    expect(await run(`db diff ${URI}`)).toMatchObject({
      exit: 0,
      stdout: "= cloud://acme:main         up to date  AVAILABLE\n\nPlan: 0 change(s), 0 destructive\n",
      stderr: "warning: there is no uv.lock and no requirements.txt: the image has the base library only\n",
    });
    const { warnings, in_agreement, left_out } = JSON.parse((await run(`db diff ${URI} --json`)).stdout);
    expect({ warnings, in_agreement, left_out }).toEqual({
      warnings: ["there is no uv.lock and no requirements.txt: the image has the base library only"],
      in_agreement: true,
      left_out: [],
    });
  });

  test("without an entry takes defaults and says which lines to add; without a project it is refused", async () => {
    write({ "app.py": "" });
    const none = await run(`db diff ${URI}`);
    expect(none).toMatchObject({ exit: 1, stderr: expect.stringContaining("is a project") });
    write({ "pyproject.toml": "[tool.service]\n" });
    const ran = await run(`db diff ${URI}`);
    expect(ran.stderr).toContain(
      'warning: pyproject.toml has no entry for cloud://acme:main; defaults are used. To say what it shall be, add:\n\n    [[tool.service.database]]\n    name = "cloud://acme:main"\n',
    );
    expect(bodyOf("databasePlan").settings).toEqual({});
  });

  test("sends pyproject.toml without what is ours, service.toml never, and says what is left out", async () => {
    write({
      "pyproject.toml": '[project]\nname = "x"\n[tool.service]\napi_key = "sk_secret"\n[tool.other]\na = 1\n',
      "app.py": "",
      ".env": "A=1",
      "uv.lock": "",
      "libs/pyproject.toml": '[tool.service]\napi_key = "sk_secret"\n',
      "README.md": "",
      "readme.md": "",
    });
    symlinkSync("/etc/passwd", join(world.project, "passwd"));
    const ran = await run(`db update ${URI} -f --json`);
    expect(ran.exit).toBe(0);
    expect(sent()).toEqual(["README.md", "app.py", "libs/pyproject.toml", "pyproject.toml", "readme.md", "uv.lock"]);
    const texts = [...stored.values()].map(String);
    expect(texts).toContain('[project]\nname = "x"\n[tool.other]\na = 1\n');
    expect(texts.join("") + JSON.stringify(bodyOf("databasePlan"))).not.toContain("sk_secret");
    expect(ran.stderr).toContain("warning: left out, because it may hold secrets: .env; set values by cli secret set,");
    expect(ran.stderr).toContain("warning: passwd is left out: it is a link out of the project, to /etc/passwd\n");
    expect(ran.stderr).toContain("README.md and readme.md");
    expect(JSON.parse(ran.stdout).left_out.map(({ path }: { path: string }) => path)).toEqual([".env", "passwd"]);
    expect(bodyOf("databasePlan").environment.source).toBe("uv.lock");
  });

  test("requirements and what they name travel, though git ignores them", async () => {
    project();
    write({
      ".gitignore": "*.txt\n*.whl\n",
      "requirements.txt": "-r pins/base.txt\n./wheels/thing-1.0-py3-none-any.whl\n-c https://example.com/c.txt\n",
      "pins/base.txt": "-c more.txt\niniconfig\n",
      "pins/more.txt": "-r base.txt\n",
      "pins/other.txt": "",
      "wheels/thing-1.0-py3-none-any.whl": "zip",
      "wheels/other-1.0-py3-none-any.whl": "zip",
    });
    expect((await run(`db diff ${URI}`)).exit).toBe(2);
    expect(sent()).toEqual([
      ".gitignore",
      "app.py",
      "pins/base.txt",
      "pins/more.txt",
      "requirements.txt",
      "wheels/thing-1.0-py3-none-any.whl",
    ]);
  });
});

describe("cli db update", () => {
  test("uploads what is missing, submits what was planned, waits, and says which generation is done", async () => {
    project();
    write({ "data/big.bin": randomBytes(20 * MIB), "data/same.txt": "x = 1\n", "empty.txt": "" });
    const ran = await run(`db update ${URI} -f`);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("~ cloud://acme:main         will be updated  AVAILABLE\n");
    expect(ran.stdout).toContain("\ncloud://acme:main generation 2 done\n");
    expect(ran.stderr).toContain("uploading: 20.0 MiB of 20.0 MiB\n");
    expect(ran.stderr).toContain("next: cli schema update app.py cloud://acme:main\n");
    expect(asked()).toEqual([
      ...["databasePlan", "blobMissing", "blobUpload", "blobUpload"],
      ...["databaseUpdate", "operationShow", "databaseShow"],
    ]);
    const { expected_generation, files } = bodyOf("databaseUpdate");
    expect(expected_generation).toBe(1);
    expect(files).toEqual(bodyOf("databasePlan").files);
    expect(files.find(({ path }: { path: string }) => path === "data/big.bin").chunks).toHaveLength(3);
    expect(stored.size).toBe(4);
    const again = await run(`db update ${URI} -f --json`);
    expect(JSON.parse(again.stdout)).toMatchObject({ in_agreement: true, status: null, operation: null });
    expect(asked().slice(7)).toEqual(["databasePlan"]);
  });

  test("asks first; without a terminal it exits 3 and changes nothing", async () => {
    project();
    expect(await run(`db update ${URI}`, { answer: false })).toMatchObject({ exit: 3 });
    const alone = await run(`db update ${URI}`);
    expect(alone.exit).toBe(3);
    expect(alone.stderr).toContain(
      "error: There is no terminal to ask: apply 1 change to cloud://acme:main?\nhint: Answer beforehand: cli db update cloud://acme:main -f\n",
    );
    plan = { summary: { ops: 1, destructive: 0, rebuild: true, restarts: true } };
    expect((await run(`db update ${URI}`)).stderr).toContain("cloud://acme:main, which rebuilds the image?");
    expect(asked()).toEqual(["databasePlan", "databasePlan", "databasePlan"]);
    expect((await run(`db update ${URI}`, { answer: true })).exit).toBe(0);
  });

  test("-n shows and uploads nothing, and exits 2", async () => {
    project();
    const ran = await run(`db update ${URI} -n --json`);
    expect(ran.exit).toBe(2);
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: "skipped", operation: null });
    expect(asked()).toEqual(["databasePlan"]);
  });

  test("takes less of a resource only when that is allowed", async () => {
    project();
    plan = { summary: { ops: 1, destructive: 1, rebuild: false, restarts: true } };
    const refused = await run(`db update ${URI} -f`);
    expect(refused.exit).toBe(3);
    expect(refused.stderr).toContain(
      "hint: To do it all the same: cli db update cloud://acme:main --allow-destructive\n",
    );
    expect((await run(`db update ${URI} -f --allow-destructive`)).exit).toBe(0);
    expect(bodyOf("databaseUpdate").allow_destructive).toBe(true);
  });

  test.each(["PROVISIONING", "UPDATING", "STOPPED", "STARTING", "FAILED", "DELETING"] as const)(
    "of one that is %s is refused before anything is asked or uploaded",
    async (state) => {
      project();
      plan = { state };
      const ran = await run(`db update ${URI} -f`);
      expect(ran.exit).toBe(1);
      expect(ran.stderr).toContain(`error: cloud://acme:main is ${state}; it must be AVAILABLE to be updated.\nhint: `);
      expect(asked()).toEqual(["databasePlan"]);
    },
  );

  test("is told what moved when another update was quicker", async () => {
    project();
    answers.databaseUpdate = () => {
      throw appError("generation_moved", { detail: "cloud://acme:main is at generation 3; the plan was for 1." });
    };
    const ran = await run(`db update ${URI} -f --json`);
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout).code).toBe("generation_moved");
  });

  test("shows the build as it runs; one that fails ends with what the builder said", async () => {
    project();
    plan = { summary: { ops: 1, destructive: 0, rebuild: true, restarts: true } };
    answers.operationLog = async function* () {
      yield logLine(1, "Resolved 3 packages");
    };
    answers.operationShow = async () => {
      await expect.poll(() => asked().includes("operationLog")).toBe(true);
      const error = { code: "build_failed", detail: "There is no package nosuch.", hint: "Correct requirements.txt." };
      return { ...DONE, state: "failed", error };
    };
    const ran = await run(`db update ${URI} -f`);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toMatch(
      / {4}Resolved 3 packages\n(.*\n)*error: There is no package nosuch.\nhint: Correct requirements.txt.\n$/,
    );
  });

  test("--no-wait ends when it was asked for; Ctrl-C leaves it going on", async () => {
    project();
    answers.operationShow = async () => {
      await sleep(20);
      return { ...DONE, state: "running" };
    };
    const left = await run(`db update ${URI} -f --no-wait`);
    expect(left).toMatchObject({ exit: 0, stdout: expect.stringContaining("cloud://acme:main generation 1 begun\n") });
    stored.clear();
    const interrupt = new AbortController();
    const running = run(`db update ${URI} -f`, { signal: interrupt.signal });
    await expect.poll(() => asked().filter((name) => name === "operationShow").length).toBeGreaterThan(2);
    interrupt.abort();
    const ran = await running;
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain("hint: Wait for it: cli operations wait op1\n");
  });
});

describe("an upload", () => {
  test("that is cut off goes on with what is missing", async () => {
    project();
    write({ "a.bin": randomBytes(9 * MIB), "b.bin": randomBytes(15 * MIB) });
    let times = 0;
    answers.blobUpload = ({ body }) => {
      if (times++ !== 1) return store(body);
      // cut in the middle: the first blob of it was complete
      const [first] = body;
      store(new Map([first]));
      throw HANG_UP;
    };
    const ran = await run(`db update ${URI} -f`);
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain("The upload was cut off; it goes on. No server answers at");
    const packs = server.asked.filter(({ name }) => name === "blobUpload").map(({ body }) => [...body.keys()]);
    expect(new Set(packs.flat())).toEqual(new Set(stored.keys()));
    expect(packs[2]).toEqual(packs[1]?.slice(1));
  });

  test("of a file that changes meanwhile submits nothing, and names the file", async () => {
    project();
    write({ "log.txt": "one" });
    answers.blobMissing = ({ body }) => {
      write({ "log.txt": "two" });
      return { missing: body.digests };
    };
    const ran = await run(`db update ${URI} -f --json`);
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "files_changed", meta: { files: ["log.txt"] } });
    expect(asked()).not.toContain("databaseUpdate");
  });

  test("left by Ctrl-C changed nothing, and what was uploaded stays", async () => {
    project();
    const interrupt = new AbortController();
    answers.blobMissing = async ({ body }) => {
      interrupt.abort();
      return { missing: body.digests };
    };
    const ran = await run(`db update ${URI} -f`, { signal: interrupt.signal });
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain(
      "The command was interrupted; the database is as it was.\nhint: What was uploaded stays",
    );
    expect(asked()).not.toContain("databaseUpdate");
  });
});

describe("digests that the home keeps", () => {
  const digestsSent = () => bodyOf("databasePlan").files.map(({ chunks }: { chunks: string[] }) => chunks);
  const old = new Date(Date.now() - 60_000);

  test("are of no use for a file that was written within the same moment, with the same size", async () => {
    project();
    await run(`db diff ${URI}`);
    const before = digestsSent();
    write({ "app.py": "x = 2\n" });
    await run(`db diff ${URI}`);
    expect(digestsSent()).not.toEqual(before);
  });

  test("do not hide a change that sets the former time, nor do they outlive a file", async () => {
    project();
    utimesSync(join(world.project, "app.py"), old, old);
    await sleep(2_100);
    await run(`db diff ${URI}`);
    await run(`db diff ${URI}`);
    expect(digestsSent()).toEqual([[sha256("x = 1\n")]]);
    write({ "app.py": "x = 2\n" });
    utimesSync(join(world.project, "app.py"), old, old);
    await run(`db diff ${URI}`);
    expect(digestsSent()).toEqual([[sha256("x = 2\n")]]);
    rmSync(join(world.project, "app.py"));
    await run(`db diff ${URI}`);
    expect(sent()).toEqual([]);
  });
});
