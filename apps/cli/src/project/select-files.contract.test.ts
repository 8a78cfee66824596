import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { selectFiles } from "./select-files.ts";
import { createSelector } from "./selection.ts";

let folder: string;
let root: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb files é-"));
  root = join(folder, "project");
  mkdirSync(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (files: Record<string, string>, at = root) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(at, path)), { recursive: true });
    writeFileSync(join(at, path), text);
  }
};
type Entry = Parameters<typeof createSelector>[0];
const select = (entry: Entry = {}, named: readonly string[] = []) => selectFiles(root, createSelector(entry), named);
const paths = (entry: Entry = {}) =>
  select(entry)
    .files.map(({ path }) => path)
    .sort();
const links = () => Object.fromEntries(select().links.map(({ path, link }) => [path, link]));
const reasons = (entry: Entry = {}) =>
  Object.fromEntries(select(entry).left_out.map(({ path, reason }) => [path, reason]));
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false", ...args], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", HOME: folder },
  });

describe("files of a project", () => {
  test("excludes files that git ignores, at every level", () => {
    write({
      ".gitignore": "*.log\n/build/\n!keep.log\ndata/*\n!data/small.csv\n",
      "app.py": "",
      "a.log": "",
      "keep.log": "",
      "build/out.bin": "",
      "lib/build/in.bin": "",
      "data/big.csv": "",
      "data/small.csv": "",
      "lib/.gitignore": "!a.log\n/only-here.txt\nsub/x\n",
      "lib/a.log": "",
      "lib/only-here.txt": "",
      "lib/deep/only-here.txt": "",
      "lib/sub/x": "",
      "lib/sub/y": "",
    });
    expect(paths()).toEqual(
      [
        ".gitignore",
        "app.py",
        "data/small.csv",
        "keep.log",
        "lib/.gitignore",
        "lib/a.log",
        "lib/build/in.bin",
        "lib/deep/only-here.txt",
        "lib/sub/y",
      ].sort(),
    );
  });

  test("excludes caches, environments, packages, .git and our configuration", () => {
    write({
      "app.py": "",
      "service.toml": "",
      "sub/service.toml": "",
      ".git/HEAD": "",
      "__pycache__/app.pyc": "",
      "web/node_modules/x/index.js": "",
      ".service/config.toml": "",
      "env/pyvenv.cfg": "",
      "env/lib/x.py": "",
      "conda/conda-meta/history": "",
      "conda/x.py": "",
    });
    expect(paths({ include: ["env/", "node_modules", "service.toml"] })).toEqual(["app.py"]);
  });

  test("uses the outer repository's rules unless it ignores the project", () => {
    write({ "app.py": "", "notes.txt": "", "x.tmp": "" });
    write({ ".git/info/exclude": "*.tmp\n", ".gitignore": "/project/notes.txt\n/app.py\n" }, folder);
    expect(paths()).toEqual(["app.py"]);
    write({ ".gitignore": "project/\nnotes.txt\n" }, folder);
    expect(paths()).toEqual(["app.py", "notes.txt", "x.tmp"]);
  });

  test("uses the repository's exclude file in a worktree", () => {
    write({ "app.py": "", "x.tmp": "", ".git": "gitdir: ../repo/.git/worktrees/one\n" });
    write({ "repo/.git/info/exclude": "*.tmp\n", "repo/.git/worktrees/one/commondir": "../..\n" }, folder);
    expect(paths()).toEqual(["app.py"]);
  });

  test("applies exclude, include and include_only", () => {
    write({
      ".gitignore": "models/\n*.bin\n",
      "app.py": "",
      "tests/a.py": "",
      "tests/data/b.csv": "",
      "models/v1/model.bin": "",
      "models/v1/notes.md": "",
      "models/v2/model.bin": "",
      "uv.lock": "",
    });
    expect(paths({ exclude: ["tests/"] })).toEqual([".gitignore", "app.py", "uv.lock"]);
    expect(paths({ exclude: ["tests/", "uv.lock"], include: ["tests/data/", "models/v1/*.bin"] })).toEqual([
      ".gitignore",
      "app.py",
      "models/v1/model.bin",
      "tests/data/b.csv",
      "uv.lock",
    ]);
    expect(paths({ include: ["model.bin"] })).toContain("models/v2/model.bin");
    expect(paths({ include_only: ["*.py", "/models/*/notes.md"] })).toEqual([
      "app.py",
      "models/v1/notes.md",
      "tests/a.py",
      "uv.lock",
    ]);
  });

  test("always includes files for the image and reads them through links", () => {
    write({ ".gitignore": "*\n", "pins/base.txt": "x", "real.lock": "", "app.py": "" });
    symlinkSync("real.lock", join(root, "uv.lock"));
    const found = select({ exclude: ["*"] }, ["pins/base.txt", "pins/none.txt"]);
    expect(found.files.map(({ path }) => path).sort()).toEqual(["pins/base.txt", "uv.lock"]);
    expect(found.links).toEqual([]);
  });

  test("excludes and reports possible secrets unless include names them", () => {
    write({
      "app.py": "",
      ".env": "",
      ".env.local": "",
      ".env.example": "",
      "certs/Server.PEM": "",
      "keys/id_rsa": "",
      "credentials-prod.json": "",
      "ignored.key": "",
      ".gitignore": "ignored.key\n",
    });
    const secrets = [".env", ".env.local", "certs/Server.PEM", "credentials-prod.json", "keys/id_rsa"];
    const open = [".env.example", ".gitignore", "app.py"];
    for (const include of [[], ["*"], ["certs/"], ["**"], ["certs/*"]]) {
      expect(
        Object.keys(reasons({ include }))
          .filter((path) => path !== "ignored.key")
          .sort(),
      ).toEqual(secrets);
      expect(paths({ include })).toEqual(open);
    }
    expect(reasons()).not.toHaveProperty("ignored.key");
    expect(paths({ include: ["certs/*.PEM", "/.env"] })).toEqual([".env", "certs/Server.PEM", ...open].sort());
    expect(paths({ include_only: ["app.py", ".env.local"] })).toEqual([".env.local", "app.py"]);
  });

  test("keeps links to uploaded files and reports others", () => {
    write({ "app.py": "", "data/a.csv": "", ".gitignore": "big/\n", "big/b.csv": "" });
    write({ "secret.txt": "" }, folder);
    const link = (path: string, to: string) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      symlinkSync(to, join(root, path));
    };
    link("a.csv", "data/a.csv");
    link("sub/data", "../data");
    link("absolute.csv", join(root, "data", "a.csv"));
    link("sub/around.csv", "../../project/data/a.csv");
    link("twice", "a.csv");
    link("outside", "../secret.txt");
    link("outside-absolute", join(folder, "secret.txt"));
    link("gone", "nothing");
    link("circle", "circle");
    link("big.csv", "big/b.csv");
    link("next", "big.csv");
    link("node_modules", "data");
    expect(links()).toEqual({
      "a.csv": "data/a.csv",
      "sub/data": "../data",
      "absolute.csv": "data/a.csv",
      "sub/around.csv": "../data/a.csv",
      twice: "a.csv",
    });
    expect(reasons()).toEqual({
      outside: "is a link out of the project, to ../secret.txt",
      "outside-absolute": `is a link out of the project, to ${folder}/secret.txt`,
      gone: "is a link to nothing, which does not exist",
      circle: "is a link to circle, which does not exist",
      "big.csv": "is a link to big/b.csv, which is not among the project's files",
      next: "is a link to big.csv, which is not among the project's files",
    });
  });

  test("reports sockets, pipes, invalid names and unreadable folders", () => {
    write({ "app.py": "", "locked/x.py": "", "line\nbreak.txt": "", "back\\slash.txt": "" });
    execFileSync("mkfifo", [join(root, "pipe")]);
    writeFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.of(0xe9), Buffer.from(".txt")]), "");
    chmodSync(join(root, "locked"), 0o000);
    const isRoot = process.getuid?.() === 0;
    expect(reasons()).toEqual({
      pipe: "is a socket, a pipe or a device",
      "caf\uFFFD.txt": "has a name that is not UTF-8",
      "line\nbreak.txt": "has control characters in its name",
      "back\\slash.txt": "has a backslash in its name",
      // root can read everything
      ...(isRoot ? {} : { "locked/": "cannot be read" }),
    });
    chmodSync(join(root, "locked"), 0o700);
  });

  test("matches git's own list for generated trees and patterns", () => {
    git("init", "-q", ".");
    const random = seeded(20261122);
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
    const names = ["a", "b", "ab", "a.txt", "b.log", "c d", "#x", "!y", "[z]", "q"];
    const patterns = [
      "a",
      "b/",
      "/a",
      "*.txt",
      "a/b",
      "**/ab",
      "a/**",
      "b/**/a",
      "!a.txt",
      "!b/",
      "\\#x",
      "\\!y",
      "c d",
      "?",
      "*",
      "!*/",
      "[!a]",
      "a[!b]",
      "[a-b]*",
      "**/a/",
      "a//b",
      "[^a-b]*",
      "!a[!.]txt",
      "b/ ",
      "\\[z\\]",
      "a*b",
      "[ab]",
      "/b/*",
      "!/b/a",
    ];
    for (let round = 0; round < 40; round++) {
      for (const name of names) rmSync(join(root, name), { recursive: true, force: true });
      rmSync(join(root, ".gitignore"), { force: true });
      for (let file = 0; file < 25; file++) {
        const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(names));
        try {
          write({ [parts.join("/")]: "" });
        } catch {
          // a part of the path is a file
        }
      }
      for (const place of [".gitignore", "a/.gitignore", "b/.gitignore", "a/b/.gitignore"]) {
        const lines = Array.from({ length: Math.floor(random() * 4) }, () => pick(patterns));
        try {
          if (lines.length > 0) write({ [place]: `${lines.join("\n")}\n` });
        } catch {
          // not a folder
        }
      }
      const listed = git("ls-files", "-z", "--others", "--exclude-standard").split("\0").filter(Boolean).sort();
      expect(paths(), `round ${round}`).toEqual(listed);
    }
  });
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
