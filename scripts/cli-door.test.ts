import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";
import { withDigest } from "./lib/with-digest.mjs";

const MAIN = `const greet = (name) => "Hello " + name;
const [, , ...words] = process.argv;
console.log(greet(words.join(" ")));
if (words.includes("more")) require("./cli-more.js").run(require("node:path").sep);
process.exitCode = Number(words.at(-1)) || 0;
`;
const MORE = `exports.run = (text) => console.log("more", text, require("./cli-main.js") !== undefined, __filename.endsWith("cli-more.js"));\n`;

let folder: string;
let home: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb door é "));
  home = join(folder, "home");
  mkdirSync(home);
  const door = readFileSync(join(ROOT, "scripts", "packaging", "cli-door.cjs"), "utf8");
  writeFileSync(join(folder, "cli.js"), door.replaceAll("@VERSION@", "1.2.3").replace("@FREQUENT@", "ls,schema diff"));
  writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }\n');
  write("cli-main", MAIN);
  write("cli-more", MORE);
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.js`), withDigest(text));

function run(...words: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: folder, SERVICE_HOME: home };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  try {
    return execFileSync(process.execPath, [join(folder, "cli.js"), ...words], {
      encoding: "utf8",
      env,
      stdio: [...stdio],
    });
  } catch (error) {
    if (error instanceof Error && "status" in error && error.status !== null && "stdout" in error)
      return `${error.status}: ${error.stdout}`;
    throw error;
  }
}

const cache = () => join(home, "cache", "command", `1.2.3-${process.version}-${process.arch}`);
const kept = () => readdirSync(cache()).sort();
const file = (name: string) => join(cache(), name);

test("a version is printed without anything else", () => {
  rmSync(join(folder, "cli-main.js"));
  expect([run("--version"), run("-v"), readdirSync(home)]).toEqual(["1.2.3\n", "1.2.3\n", []]);
});

test("a command stores compiled code of the bundles that it has used, and runs it again", () => {
  for (let time = 0; time < 2; time += 1)
    expect(run("ls", "main", "more")).toBe("Hello ls main more\nmore / true true\n");
  expect(kept()).toEqual(["ls.cli-main", "ls.cli-more"]);
  const made = statSync(file("ls.cli-main"));
  expect([made.mode & 0o777, statSync(cache()).mode & 0o777]).toEqual([0o600, 0o700]);
  run("ls");
  expect(statSync(file("ls.cli-main")).mtimeMs).toBe(made.mtimeMs);
});

test.each([
  [["schema", "diff", "app.py", "main"], "schema-diff"],
  [["ls", "cloud://acme:main"], "ls-hosted"],
  [["ls", "--help"], "other"],
  [["schema", "update"], "other"],
  [["../../x"], "other"],
  [[], "other"],
])("the code of %j is that of %s", (words, name) => {
  run(...words);
  expect(kept()).toEqual([`${name}.cli-main`]);
});

test("a pending plan stores its code, and a failure does not", () => {
  expect(run("ls", "1")).toBe("1: Hello ls 1\n");
  expect(readdirSync(home)).toEqual([]);
  expect(run("ls", "2")).toBe("2: Hello ls 2\n");
  expect(kept()).toEqual(["ls.cli-main"]);
});

test("code of another text of the same length is replaced", () => {
  run("ls");
  write("cli-main", MAIN.replace("Hello", "Adieu"));
  const { mtimeMs } = statSync(file("ls.cli-main"));
  expect([run("ls"), run("ls")]).toEqual(["Adieu ls\n", "Adieu ls\n"]);
  expect(statSync(file("ls.cli-main")).mtimeMs).toBeGreaterThan(mtimeMs);
});

test.each<readonly [string, (bytes: Buffer) => Buffer]>([
  ["empty", () => Buffer.alloc(0)],
  ["cut in its digest", (bytes) => bytes.subarray(0, 20)],
  ["cut in its code", (bytes) => bytes.subarray(0, bytes.length - 100)],
  ["of another version of V8", (bytes) => Buffer.concat([bytes.subarray(0, 74), Buffer.alloc(bytes.length - 74)])],
])("code that is %s is replaced", (_how, damage) => {
  run("ls");
  const whole = readFileSync(file("ls.cli-main"));
  writeFileSync(file("ls.cli-main"), damage(whole));
  expect(run("ls")).toBe("Hello ls\n");
  expect(readFileSync(file("ls.cli-main")).length).toBeGreaterThan(whole.length / 2);
  expect(kept()).toEqual(["ls.cli-main"]);
});

test("a command runs without a home, and with one that takes no files", () => {
  rmSync(home, { recursive: true });
  expect(run("ls")).toBe("Hello ls\n");
  expect(readdirSync(folder)).not.toContain("home");
  mkdirSync(home);
  writeFileSync(join(home, "cache"), "a file");
  expect([run("ls"), readdirSync(home)]).toEqual(["Hello ls\n", ["cache"]]);
});

test.runIf(process.getuid?.() === 0)("code of another user is not run", () => {
  run("ls");
  const path = file("ls.cli-main");
  execFileSync("chown", ["65534", path]);
  expect(run("ls")).toBe("Hello ls\n");
  expect(statSync(path).uid).toBe(0);
});

test("an installation that was moved runs its code", () => {
  run("ls");
  const [moved, movedHome] = [`${folder} moved`, join(`${folder} moved`, "home")];
  renameSync(folder, moved);
  [folder, home] = [moved, movedHome];
  expect(run("ls")).toBe("Hello ls\n");
});
