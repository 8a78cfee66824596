import { expect, test } from "vitest";
import { findStaleLock } from "./check-lock.ts";

/** The lock that uv 0.9 writes for `PYPROJECT`. */
const LOCK = `version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "my-proj"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "tiny" },
]

[package.metadata]
requires-dist = [
    { name = "lib", editable = "libs/lib" },
    { name = "more", marker = "extra == 'x'" },
    { name = "odd", marker = "python_full_version >= '3.8'", specifier = ">=1" },
    { name = "tiny", specifier = ">=0.5,!=0.7.*" },
]
provides-extras = ["x"]

[[package]]
name = "tiny"
version = "1.0"
source = { registry = "https://packages.example.com/simple" }
`;
const pyproject = (dependencies: string, more = "") => `[project]
name = "My.Proj"
dependencies = [${dependencies}]
${more}
[project.optional-dependencies]
x = ["more"]
`;
const SAME = `"Tiny != 0.7.*, >= 0.5", 'odd>=1 ; python_version >= "3.8"', "lib>=2"`;

test("accepts a lock of the project in every spelling of names and conditions", () => {
  expect(findStaleLock(LOCK, pyproject(SAME))).toBeUndefined();
  expect(
    findStaleLock(LOCK, pyproject(SAME.replace("Tiny != 0.7.*, >= 0.5", "tiny[x](>=0.5,!=0.7.*)"))),
  ).toBeUndefined();
});

test.each([
  ["a package that was added", pyproject(`${SAME}, "six"`), /requires six, which it does not contain/],
  ["a package that was taken out", pyproject(SAME.replace(', "lib>=2"', "")), /has lib, which .* any more/],
  [
    "another version",
    pyproject(SAME.replace(">= 0.5", ">= 0.6")),
    /tiny!=0\.7\.\*,>=0\.6, but the lock has tiny!=0\.7\.\*,>=0\.5/,
  ],
  ["another project", pyproject(SAME).replace("My.Proj", "other"), /of the project my-proj, .* of other/],
])("%s shows that a lock belongs to another pyproject.toml", (_what, text, said) => {
  expect(findStaleLock(LOCK, text)).toMatch(said);
});

test("reports nothing for input that it does not understand", () => {
  expect(findStaleLock(LOCK, "no TOML [")).toBeUndefined();
  expect(findStaleLock(LOCK, pyproject('"six"', 'dynamic = ["dependencies"]'))).toBeUndefined();
  expect(findStaleLock(LOCK.replace('virtual = "."', 'virtual = "libs"'), pyproject('"six"'))).toBeUndefined();
  expect(findStaleLock(LOCK, pyproject(SAME.replace(">= 0.5", "~= 0.5.0rc1")))).toBeUndefined();
  expect(findStaleLock("", pyproject(SAME))).toBeUndefined();
});
