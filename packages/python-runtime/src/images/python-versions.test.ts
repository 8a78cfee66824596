import { expect, test } from "vitest";
import { choosePython } from "./find-interpreter.ts";
import { type PythonVersion, readRequiresPython, satisfies } from "./python-versions.ts";

const CASES: [version: PythonVersion, conditions: string, fits: boolean][] = [
  [[3, 11, 0], ">=3.11", true],
  [[3, 10, 14], ">=3.11", false],
  [[3, 12, 1], ">=3.11,<3.12", false],
  [[3, 12, 1], ">=3.11, <3.13", true],
  [[3, 12, 0], "==3.12", true],
  [[3, 12, 1], "==3.12", false],
  [[3, 12, 1], "==3.12.*", true],
  [[3, 12, 1], "!=3.12.*", false],
  [[3, 12, 1], "!=3.12.0", true],
  [[3, 13, 0], "~=3.11", true],
  [[4, 0, 0], "~=3.11", false],
  [[3, 12, 0], "~=3.11.2", false],
  [[3, 11, 9], "~=3.11.2", true],
  [[3, 11, 9], "<=3.11.9,>3.11.8", true],
  [[3, 11, 9], "", true],
  [[3, 11, 9], ">=3.11.dev1", false],
  [[3, 11, 9], "about 3", false],
];

for (const [version, conditions, fits] of CASES) {
  test(`Python ${version.join(".")} ${fits ? "fits" : "does not fit"} '${conditions}'`, () => {
    expect(satisfies(version, conditions)).toBe(fits);
  });
}

test("reads the Python versions of a lock", () => {
  expect(readRequiresPython('version = 1\nrequires-python = ">=3.11, <3.14"\n')).toBe(">=3.11, <3.14");
  expect(readRequiresPython("version = 1\n")).toBeUndefined();
});

test("chooses the newest matching Python, 3.11 or newer", () => {
  const pythons = ["3.9.2", "3.11.2", "3.13.0", "3.12.1"].map((text) => {
    const [major = 0, minor = 0, patch = 0] = text.split(".").map(Number);
    const path = `/opt/python${text}`;
    return { version: [major, minor, patch] as const, executable: path, base: path, prefix: "/opt", paths: [] };
  });
  const chosen = (version: string | null, requires?: string) =>
    choosePython(pythons, { version, requires })?.version.join(".");
  expect(chosen(null)).toBe("3.13.0");
  expect(chosen(null, ">=3.11,<3.13")).toBe("3.12.1");
  expect(chosen("3.11")).toBe("3.11.2");
  expect(chosen("3.12.1")).toBe("3.12.1");
  expect(chosen("3.12.2")).toBeUndefined();
  expect(chosen("3.9")).toBeUndefined();
  expect(chosen("3.11", ">=3.12")).toBeUndefined();
});
