import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, win32 } from "node:path";
import { AppError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../testing/fake-context.ts";
import { exampleText } from "./examples.ts";
import { findApplication, findProject, isBlankConfig, pathInside } from "./find-project.ts";
import { SERVICE_TOML } from "./init-text.ts";
import { readConfig } from "./read-config.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "appdb-project-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): string {
  const full = join(folder, path);
  mkdirSync(join(full, ".."), { recursive: true });
  writeFileSync(full, text);
  return full;
}

function refusal(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

describe("the project root", () => {
  test("is the nearest folder with service.toml or our pyproject.toml section", () => {
    write("service.toml", "");
    write("inner/pyproject.toml", "[project]\nname = 'x'\n");
    mkdirSync(join(folder, "inner/deep"));
    expect(findProject(join(folder, "inner/deep"))).toMatchObject({ root: folder, config_file: "service.toml" });
    write("inner/pyproject.toml", "[project]\nname = 'x'\n\n[[tool.service.database]]\n");
    expect(findProject(join(folder, "inner/deep"))).toMatchObject({
      root: join(folder, "inner"),
      config_file: "pyproject.toml",
    });
  });

  test("prefers service.toml when both exist", () => {
    write("service.toml", "");
    write("pyproject.toml", "[tool.service]\n");
    expect(findProject(folder)?.config_file).toBe("service.toml");
  });
});

describe("the application file", () => {
  test("is named by its path from the root", () => {
    write("service.toml", "");
    write("apps/app.py", "");
    expect(findApplication(join(folder, "apps"), "app.py")).toMatchObject({
      app_file: "apps/app.py",
      project: { root: folder },
    });
  });

  test("defines the project when the current folder has none", () => {
    write("project/service.toml", "");
    write("project/app.py", "");
    mkdirSync(join(folder, "elsewhere"));
    const found = findApplication(join(folder, "elsewhere"), "../project/app.py");
    expect(found.project.root).toBe(join(folder, "project"));
  });

  test("that does not exist is refused with the typed path", () => {
    write("main.py", "");
    expect(refusal(() => findApplication(folder, "mian.py")).hint).toBe("Did you mean main.py?");
    expect(refusal(() => findApplication(folder, "main")).hint).toBe("Did you mean main.py?");
    const error = refusal(() => findApplication(folder, "nope.py"));
    expect(error.code).toBe("app_file_not_found");
    expect(error.message).toContain("nope.py");
  });

  test("is not read from the input", () => {
    const { code, message } = refusal(() => findApplication(folder, "-"));
    expect([code, message]).toEqual([
      "usage",
      "'-' is the input, and an application is read from a file of its project.",
    ]);
  });

  test("suggests the root's file in a folder below it", () => {
    write("service.toml", "");
    write("app.py", "");
    mkdirSync(join(folder, "data"));
    expect(refusal(() => findApplication(join(folder, "data"), "app.py")).hint).toBe("Did you mean ../app.py?");
  });

  test("without a project is refused with the init command", () => {
    write("app.py", "");
    const error = refusal(() => findApplication(folder, "app.py"));
    expect(error.code).toBe("no_project");
    expect(error.hint).toContain("cli init");
  });

  test("outside the project is refused, through a link too", () => {
    write("project/service.toml", "");
    write("other/app.py", "");
    const project = join(folder, "project");
    expect(refusal(() => findApplication(project, "../other/app.py")).code).toBe("app_outside_project");
    symlinkSync(join(folder, "other/app.py"), join(project, "app.py"));
    const error = refusal(() => findApplication(project, "app.py"));
    expect(error.code).toBe("app_outside_project");
    expect(error.meta).toMatchObject({ project_root: project });
  });

  test.each([
    [win32, "C:\\work\\shop", "C:\\work\\shop\\api\\app.py", "api/app.py"],
    [win32, "C:\\work\\shop", "C:\\work\\app.py", undefined],
    [win32, "C:\\work\\shop", "D:\\shop\\app.py", undefined],
    [posix, "/srv/shop", "/srv/shop/..app.py", "..app.py"],
    [posix, "/srv/shop", "/srv/shopping/app.py", undefined],
  ])("is inside or outside its project on each system (%#)", (path, root, file, below) => {
    expect(pathInside(root, file, path)).toBe(below);
  });

  test("that is not Python is refused", () => {
    write("service.toml", "");
    write("app.txt", "");
    expect(refusal(() => findApplication(folder, "app.txt")).code).toBe("app_invalid");
  });
});

describe("the configuration", () => {
  test("reports a typo with file and line", () => {
    const text =
      "# ours\n[[service.database]]\ncpu = 1\n\n[[service.database]]\nname = 'cloud://acme:main'\nmemroy_mb = 512\n";
    const error = refusal(() => readConfig({ config_file: "service.toml", text }));
    expect(error.message).toContain("service.toml:7: 'memroy_mb' in [[service.database]]");
    expect(error.message).toContain("did you mean 'memory_mb'?");
  });

  test("in pyproject.toml is checked alike and other tools are ignored", () => {
    const text = "[tool.ruff]\nline-length = 100\n\n[[tool.service.database]]\nworkrs = 1\n";
    const error = refusal(() => readConfig({ config_file: "pyproject.toml", text }));
    expect(error.message).toContain("pyproject.toml:5: 'workrs' in [[tool.service.database]]");
    expect(readConfig({ config_file: "pyproject.toml", text: "[project]\nname = 'x'\n" })).toEqual({});
  });

  test("reports invalid TOML with line and column", () => {
    const error = refusal(() => readConfig({ config_file: "service.toml", text: "[service]\napi_key = \n" }));
    expect(error.message).toMatch(/^service\.toml:2:\d+: invalid TOML: /);
    expect(error.message).not.toContain("\n");
  });

  test("reports a misspelled section", () => {
    const error = refusal(() => readConfig({ config_file: "service.toml", text: "\n[servce]\napi_key = 'x'\n" }));
    expect(error.message).toContain("service.toml:2: 'servce'");
  });

  test("names the line of an inline table", () => {
    const text = "[service]\ndatabase = [\n  { cpu = 0 },\n]\n";
    expect(refusal(() => readConfig({ config_file: "service.toml", text })).message).toContain("service.toml:2: 'cpu'");
  });

  test("accepts a placeholder", () => {
    const text = "[[service.database]]\n[[service.database]]\nname = 'cloud://<your-org>:main'\n";
    expect(readConfig({ config_file: "service.toml", text }).database).toHaveLength(2);
  });
});

describe("an empty configuration", () => {
  test("is an empty file or the file of cli init", () => {
    expect(isBlankConfig("")).toBe(true);
    expect(isBlankConfig("\r\n# mine\r\n[[service.database]] # local\r\n")).toBe(true);
    expect(isBlankConfig(SERVICE_TOML)).toBe(true);
  });

  test.each([
    "[service]\napi_key = 'x'\n",
    "[[service.database]]\ncpu = 1\n",
    "[[service.database]]\n[[service.database]]\n",
    "[[servce.database]]\n",
    "[[service.database]] cpu = 1",
    "x",
  ])("is not %j, which must be checked", (text) => {
    expect(isBlankConfig(text)).toBe(false);
  });
});

describe("cli init", () => {
  test("writes service.toml once and keeps it the second time", async () => {
    const first = await runCli("init", { cwd: folder });
    expect(first).toMatchObject({ exit: 0, stderr: "" });
    expect(first.stdout).toContain("Next: cli service example --out app.py\n");
    const path = join(folder, "service.toml");
    const text = readFileSync(path, "utf8");
    expect(readConfig({ config_file: "service.toml", text }).database).toEqual([{}]);
    writeFileSync(path, `${text}# mine\n`);
    const second = await runCli("init --json", { cwd: folder });
    expect(JSON.parse(second.stdout)).toEqual({ project_root: folder, config_file: path, created: false });
    expect(readFileSync(path, "utf8")).toBe(`${text}# mine\n`);
  });

  test("suggests the existing application instead of a new one", async () => {
    write("app.py", "# mine\n");
    expect((await runCli("init", { cwd: folder })).stdout).toContain("Next: cli schema update app.py main\n");
  });

  test.each([
    ["with a line end", '[project]\nname = "x" # mine\n'],
    ["without one", '[project]\nname = "x"'],
    ["of Windows", '[project]\r\nname = "x"\r\n'],
    ["that is empty", ""],
  ])("extends a pyproject.toml %s and keeps every byte", async (_, before) => {
    const path = write("pyproject.toml", before);
    expect((await runCli("init", { cwd: folder })).exit).toBe(0);
    const after = readFileSync(path, "utf8");
    expect(after.startsWith(before)).toBe(true);
    expect(readConfig({ config_file: "pyproject.toml", text: after }).database).toEqual([{}]);
    if (before.includes("\r\n")) expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect((await runCli("init --json", { cwd: folder })).stdout).toContain('"created": false');
  });

  test("refuses an invalid pyproject.toml without changing it", async () => {
    const path = write("pyproject.toml", "[project\n");
    const ran = await runCli("init", { cwd: folder });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("pyproject.toml:1:");
    expect(readFileSync(path, "utf8")).toBe("[project\n");
  });

  test("below another project exits with 3 and names it", async () => {
    write("service.toml", "");
    mkdirSync(join(folder, "inner"));
    const ran = await runCli("init", { cwd: join(folder, "inner") });
    expect(ran.exit).toBe(3);
    expect(ran.stderr).toContain(folder);
    expect(() => readFileSync(join(folder, "inner/service.toml"))).toThrow();
  });
});

describe("cli service example", () => {
  test("prints the file of the quickstart", async () => {
    expect((await runCli("service example")).stdout).toBe(exampleText("quickstart"));
    expect(exampleText("quickstart")).toContain('path="/docs"');
  });

  test("writes a file repeatedly but never overwrites another one", async () => {
    const path = join(folder, "app.py");
    expect((await runCli("service example --out app.py", { cwd: folder })).exit).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(exampleText("quickstart"));
    expect((await runCli("service example --out app.py", { cwd: folder })).exit).toBe(0);
    writeFileSync(path, "# mine\n");
    const refused = await runCli("service example --out app.py", { cwd: folder });
    expect(refused.exit).toBe(3);
    expect(refused.stderr).toContain("cli service example --out app.py -f");
    expect(readFileSync(path, "utf8")).toBe("# mine\n");
    expect((await runCli("service example --out app.py -f", { cwd: folder })).exit).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(exampleText("quickstart"));
  });

  test("reports a missing folder", async () => {
    const ran = await runCli("service example --out none/app.py", { cwd: folder });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("none/app.py cannot be written");
  });
});
