import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../testing/fake-context.ts";

const EXAMPLES = join(findCheckout(import.meta.dirname), "examples");

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "appdb-examples-"));
});

afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});

describe("cli examples", () => {
  test("lists each example folder with its subject", async () => {
    const { stdout } = await runCli("examples --json", { cwd });
    const { examples } = JSON.parse(stdout);
    const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(examples.map(({ name }: { name: string }) => name).toSorted()).toEqual(folders.map(({ name }) => name));
    for (const example of examples) {
      expect(example).toEqual({
        name: expect.any(String),
        domain: expect.stringMatching(/./),
        shows: expect.stringMatching(/./),
      });
    }
    expect((await runCli("examples", { cwd })).stdout).toMatch(/^shop +a web shop's back office +computed columns/m);
  });

  test("writes all files of one and prints the next commands", async () => {
    const ran = await runCli("examples tickets", { cwd });
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    const text = (folder: string) => readFileSync(join(folder, "tickets", "triage", "text.py"), "utf8");
    expect(text(cwd)).toBe(text(EXAMPLES));
    expect(readdirSync(join(cwd, "tickets"))).not.toContain("__pycache__");
    expect(ran.stdout).toContain("wrote tickets  (");
    expect(ran.stdout).toContain("\n  cd tickets\n  cli schema update app.py main\n");
    expect(ran.stdout).toContain("\n  python client.py http://127.0.0.1:...");
  });

  test("writes into another folder, which may be empty", async () => {
    mkdirSync(join(cwd, "mine"));
    const ran = await runCli("examples quickstart --out mine --json", { cwd });
    const steps = ["cli schema update app.py main", expect.stringMatching(/^cli service update app\.py main -f/)];
    expect(JSON.parse(ran.stdout)).toMatchObject({ name: "quickstart", folder: "mine", steps });
    expect(readdirSync(join(cwd, "mine"))).toContain("app.py");
  });

  test("overwrites nothing", async () => {
    mkdirSync(join(cwd, "shop"));
    writeFileSync(join(cwd, "shop", "app.py"), "mine");
    writeFileSync(join(cwd, "file"), "mine");
    for (const words of ["examples shop", "examples shop --out file"]) {
      const ran = await runCli(words, { cwd });
      expect(ran.exit).toBe(3);
      expect(ran.stderr).toContain("exists and is not an empty folder. Nothing was written.");
      expect(ran.stderr).toContain("hint: Use another folder: cli examples shop --out FOLDER");
    }
    expect(readdirSync(join(cwd, "shop"))).toEqual(["app.py"]);
  });

  test("suggests a name for a misspelled one and creates no parent folders", async () => {
    const near = await runCli("examples shpo", { cwd });
    expect(near).toMatchObject({ exit: 2, stdout: "" });
    expect(near.stderr).toBe("error: No example named 'shpo'.\nhint: Did you mean: cli examples shop\n");
    const far = await runCli("examples shop --out deep/er/shop", { cwd });
    expect(far.exit).toBe(2);
    expect(far.stderr).toContain("deep/er/shop cannot be written");
    expect(readdirSync(cwd)).toEqual([]);
  });
});
