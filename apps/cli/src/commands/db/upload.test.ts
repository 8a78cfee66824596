import { randomBytes } from "node:crypto";
import { rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HANG_UP } from "../../testing/control-server.ts";
import { MIB, openUploadProject, sha256, type UploadProject, URI } from "../../testing/upload-project.ts";

let at: UploadProject;
beforeEach(async () => {
  at = await openUploadProject();
});
afterEach(() => at[Symbol.asyncDispose]());

describe("project files", () => {
  test("sends pyproject.toml without our section and lists excluded files", async () => {
    at.write({
      "pyproject.toml": '[project]\nname = "x"\n[tool.service]\napi_key = "sk_secret"\n[tool.other]\na = 1\n',
      "app.py": "",
      ".env": "A=1",
      "uv.lock": "",
      "libs/pyproject.toml": '[tool.service]\napi_key = "sk_secret"\n',
      "README.md": "",
      "readme.md": "",
    });
    symlinkSync("/etc/passwd", join(at.folder, "passwd"));
    const ran = await at.run(`db update ${URI} -f --json`);
    expect(ran.exit).toBe(0);
    expect(at.sent()).toEqual(["README.md", "app.py", "libs/pyproject.toml", "pyproject.toml", "readme.md", "uv.lock"]);
    const texts = [...at.stored.values()].map(String);
    expect(texts).toContain('[project]\nname = "x"\n[tool.other]\na = 1\n');
    expect(texts.join("") + JSON.stringify(at.bodyOf("databasePlan"))).not.toContain("sk_secret");
    expect(ran.stderr).toContain(
      "warning: Excluded, because it may contain secrets: .env. Set values with cli secret set,",
    );
    expect(ran.stderr).toContain("warning: passwd is excluded: it is a link out of the project, to /etc/passwd.\n");
    expect(ran.stderr).toContain("README.md and readme.md");
    expect(JSON.parse(ran.stdout).left_out.map(({ path }: { path: string }) => path)).toEqual([".env", "passwd"]);
    expect(at.bodyOf("databasePlan").environment.source).toBe("uv.lock");
  });

  test("uploads requirements and their includes although git ignores them", async () => {
    at.project();
    at.write({
      ".gitignore": "*.txt\n*.whl\n",
      "requirements.txt": "-r pins/base.txt\n./wheels/thing-1.0-py3-none-any.whl\n-c https://example.com/c.txt\n",
      "pins/base.txt": "-c more.txt\niniconfig\n",
      "pins/more.txt": "-r base.txt\n",
      "pins/other.txt": "",
      "wheels/thing-1.0-py3-none-any.whl": "zip",
      "wheels/other-1.0-py3-none-any.whl": "zip",
    });
    expect((await at.run(`db diff ${URI}`)).exit).toBe(2);
    expect(at.sent()).toEqual([
      ".gitignore",
      "app.py",
      "pins/base.txt",
      "pins/more.txt",
      "requirements.txt",
      "wheels/thing-1.0-py3-none-any.whl",
    ]);
  });
});

describe("an upload", () => {
  test("resumes an interrupted upload with the missing files", async () => {
    at.project();
    at.write({ "a.bin": randomBytes(9 * MIB), "b.bin": randomBytes(15 * MIB) });
    let times = 0;
    at.answers.blobUpload = ({ body }) => {
      if (times++ !== 1) return at.store(body);
      // cut in the middle: the first blob was complete
      const [first] = body;
      at.store(new Map([first]));
      throw HANG_UP;
    };
    const ran = await at.run(`db update ${URI} -f`);
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain("The upload was interrupted and continues. The connection to http");
    const packs = at.server.asked.filter(({ name }) => name === "blobUpload").map(({ body }) => [...body.keys()]);
    expect(new Set(packs.flat())).toEqual(new Set(at.stored.keys()));
    expect(packs[2]).toEqual(packs[1]?.slice(1));
  });

  test("submits nothing and names a file that changes meanwhile", async () => {
    at.project();
    at.write({ "log.txt": "one" });
    at.answers.blobMissing = ({ body }) => {
      at.write({ "log.txt": "two" });
      return { missing: body.digests };
    };
    const ran = await at.run(`db update ${URI} -f --json`);
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "files_changed", meta: { files: ["log.txt"] } });
    expect(at.asked()).not.toContain("databaseUpdate");
  });

  test("keeps uploaded files after Ctrl-C and changes nothing", async () => {
    at.project();
    const interrupt = new AbortController();
    at.answers.blobMissing = async ({ body }) => {
      interrupt.abort();
      return { missing: body.digests };
    };
    const ran = await at.run(`db update ${URI} -f`, { signal: interrupt.signal });
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain(
      "The command was interrupted. The database was not changed.\nhint: Uploaded files are kept",
    );
    expect(at.asked()).not.toContain("databaseUpdate");
  });
});

describe("stored digests", () => {
  const digestsSent = () => at.bodyOf("databasePlan").files.map(({ chunks }: { chunks: string[] }) => chunks);
  const old = new Date(Date.now() - 60_000);

  test("are ignored for a file rewritten at the same time with the same size", async () => {
    at.project();
    await at.run(`db diff ${URI}`);
    const before = digestsSent();
    at.write({ "app.py": "x = 2\n" });
    await at.run(`db diff ${URI}`);
    expect(digestsSent()).not.toEqual(before);
  });

  test("detect a change with a restored time and are removed with the file", async () => {
    at.project();
    utimesSync(join(at.folder, "app.py"), old, old);
    await sleep(2_100);
    await at.run(`db diff ${URI}`);
    await at.run(`db diff ${URI}`);
    expect(digestsSent()).toEqual([[sha256("x = 1\n")]]);
    at.write({ "app.py": "x = 2\n" });
    utimesSync(join(at.folder, "app.py"), old, old);
    await at.run(`db diff ${URI}`);
    expect(digestsSent()).toEqual([[sha256("x = 2\n")]]);
    rmSync(join(at.folder, "app.py"));
    await at.run(`db diff ${URI}`);
    expect(at.sent()).toEqual([]);
  });
});
