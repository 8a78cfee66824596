import { expect, test } from "vitest";
import {
  CHUNK_BYTES,
  findTreeProblem,
  MAX_TREE_BYTES,
  MAX_TREE_FILES,
  type TreeEntry,
  treeText,
} from "./project-tree.ts";

const DIGEST = "a".repeat(64);
const file = (path: string, size = 1): TreeEntry => ({
  path,
  size,
  is_executable: false,
  chunks: Array.from({ length: Math.ceil(size / CHUNK_BYTES) }, () => DIGEST),
  link: null,
});
const link = (path: string, to: string): TreeEntry => ({ path, size: 0, is_executable: false, chunks: [], link: to });

test("accepts files, folders, empty and big files, and links inside the tree", () => {
  const entries = [
    file("app.py"),
    file("pkg/__init__.py", 0),
    file("data/big.bin", CHUNK_BYTES + 1),
    file(".hidden/…/ünï côdé"),
    link("pkg/data", "../data"),
    link("latest.py", "./app.py"),
  ];
  expect(findTreeProblem(entries)).toBeUndefined();
});

test("accepts links to links, through links and to missing paths inside the tree", () => {
  const entries = [
    file("lib/v2/x.py"),
    link("lib/v1", "v2"),
    link("current", "lib/v1"),
    link("x.py", "current/x.py"),
    link("root", "lib/v2/../.."),
    link("later", "not/yet/there"),
  ];
  expect(findTreeProblem(entries)).toBeUndefined();
});

test("checks a tree with the maximum number of long links", { timeout: 60_000 }, () => {
  const deep = `${"a/".repeat(127)}b`;
  const links = Array.from({ length: MAX_TREE_FILES - 1 }, (_, n) => link(`l${n}`, `${"a/../".repeat(63)}a`));
  expect(findTreeProblem([file(deep), ...links])).toBeUndefined();
});

test.each([
  ["a parent", [file("../app.py")], '"../app.py" has a part ".."'],
  ["a parent inside", [file("a/../../b")], '"a/../../b" has a part ".."'],
  ["an absolute path", [file("/etc/passwd")], '"/etc/passwd" is not a path relative to the project\'s root'],
  ["a folder", [file("a/")], '"a/" is not a path relative to the project\'s root'],
  ["a dot", [file("./a")], '"./a" has a part "."'],
  ["a double slash", [file("a//b")], '"a//b" has a part ""'],
  ["an empty path", [file("")], '"" is not a path relative to the project\'s root'],
  ["a NUL", [file("a\0b")], '"a\\u0000b" has control characters or is not well-formed text'],
  ["a line break", [file("a\nb")], '"a\\nb" has control characters or is not well-formed text'],
  ["half a character", [file("a\ud800")], '"a\\ud800" has control characters or is not well-formed text'],
  ["a backslash", [file("a\\b")], '"a\\\\b" has a backslash, which is not a name everywhere'],
  ["a long name", [file("a".repeat(256))], "has a name longer than 255 bytes"],
  ["a long path", [file(`${"a/".repeat(600)}b`)], "is longer than 1024 bytes"],
  ["a deep path", [file(`${"a/".repeat(128)}b`)], "is deeper than 128 names"],
  ["a link of many steps", [link("a", `${"./".repeat(128)}b`)], "is a link of more than 128 names"],
  ["a path twice", [file("a"), file("a")], "it contains a path twice"],
  ["a link to an absolute path", [link("a", "/etc")], '"a" is a link to an absolute or impossible path'],
  [
    "a link by half a character to another name",
    [link("a/\ufffd", "."), link("a/l", "\ud800/../..")],
    '"a/l" is a link to an absolute or impossible path',
  ],
  ["a link out of the project", [link("a/b", "../../etc/passwd")], '"a/b" is a link out of the project'],
  ["a link that comes back", [link("a", "../project/app.py")], '"a" is a link out of the project'],
  [
    "a link that leaves through another link",
    [link("a/b/c/d/l", "../../../.."), link("t", "a/b/c/d/l/../../..")],
    '"t" is a link out of the project',
  ],
  ["a circle of links", [link("a", "b"), link("b", "a/x")], '"a" is a link in a circle of links'],
  ["a link to itself", [link("a", "./a")], '"a" is a link in a circle of links'],
  ["a link through a file", [file("f"), link("a", "f/../x")], '"a" is a link that leads through a file'],
  [
    "a long chain of links",
    Array.from({ length: 50 }, (_, n) => link(`l${n}`, `l${n + 1}`)),
    "is a link that passes more than 40 links",
  ],
  [
    "too many folders",
    Array.from({ length: 500 }, (_, n) => file(`${n}/${"a/".repeat(120)}b`)),
    "exceeds the number of folders; the maximum is 50000",
  ],
  ["a file below a link", [link("a", "b"), file("a/c")], '"a/c" is below a path that is a file or a link'],
  ["a file below a file", [file("a"), file("a/b/c")], '"a/b/c" is below a path that is a file or a link'],
  ["a link with bytes", [{ ...link("a", "b"), size: 3 }], '"a" is a link and has bytes'],
  ["too few chunks", [{ ...file("a", CHUNK_BYTES + 1), chunks: [DIGEST] }], '"a" has 1 chunks; 2 belong to its size'],
  ["too many files", Array.from({ length: MAX_TREE_FILES + 1 }, (_, n) => file(`f${n}`)), "it has 50001 files"],
  ["too many bytes", [file("a", MAX_TREE_BYTES), file("b")], `the maximum is ${MAX_TREE_BYTES}`],
])("refuses %s by name", (_what, entries, problem) => {
  expect(findTreeProblem(entries)).toContain(problem);
});

test("equal files give equal texts in any order; a changed bit does not", () => {
  const entries = [file("b"), file("B"), file("a/c"), file("é")];
  expect(treeText([...entries].reverse())).toBe(treeText(entries));
  expect(treeText([{ ...file("b"), is_executable: true }, ...entries.slice(1)])).not.toBe(treeText(entries));
});
