import { expect, test } from "vitest";
import { findOptionPaths, findOwnOption, onlyNarrowsChoice, readOptions, splitOptions } from "./uv-options.ts";

test("splits a line of options like a shell", () => {
  expect(splitOptions(`--extra 'a b'  --index="https://x/y z" c"d"e`)).toEqual([
    "--extra",
    "a b",
    "--index=https://x/y z",
    "cde",
  ]);
  expect(readOptions("--extra=web --group dev --no-dev -c limits.txt")).toEqual([
    { name: "--extra", value: "web" },
    { name: "--group", value: "dev" },
    { name: "--no-dev", value: undefined },
    { name: "-c", value: "limits.txt" },
  ]);
});

test("finds options that the build sets itself in every form", () => {
  for (const text of [
    "--python 3.9",
    "--python=3.9",
    "-p 3.9",
    "-p3.9",
    "--extra a --cache-dir /x",
    "--target=/x",
    "-e .",
    "--directory=..",
  ]) {
    expect(findOwnOption(text), text).toBeDefined();
  }
  for (const text of ["", "--extra python", "--extra --python", "--group=cache-dir", "--no-binary-package x"]) {
    expect(findOwnOption(text), text).toBeUndefined();
  }
});

test("finds files and folders that options name", () => {
  expect(findOptionPaths("-c limits.txt --find-links=wheels --extra x --overrides o.txt")).toEqual([
    { path: "limits.txt", kind: "file" },
    { path: "wheels", kind: "folder" },
    { path: "o.txt", kind: "file" },
  ]);
});

test("keeps a lock unchanged only for options that select from it", () => {
  expect(onlyNarrowsChoice("--extra web --group=dev --no-default-groups")).toBe(true);
  expect(onlyNarrowsChoice("")).toBe(true);
  for (const text of [
    "--index https://x",
    "--no-binary x",
    "--find-links wheels",
    "--upgrade",
    "https://x",
    "--config-setting a=b",
  ]) {
    expect(onlyNarrowsChoice(text), text).toBe(false);
  }
});
