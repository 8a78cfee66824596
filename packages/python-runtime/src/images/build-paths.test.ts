import { expect, test } from "vitest";
import { nameBuildPaths } from "./build-paths.ts";

const home = "/srv/home/server";
const draft = `${home}/images/0190-org/draft-ab12`;
const places = {
  draft,
  cache_folder: `${home}/build-caches/0190-org`,
  uv: "/opt/tools/bin/uv",
  python_prefix: `${home}/pythons/cpython-3.12.4-linux-x86_64-gnu`,
};
const name = nameBuildPaths(places);

test("build output shows paths in the project and hides server paths", () => {
  expect(name(`error: ${draft}/build/project/pyproject.toml: no such key`)).toBe(
    "error: ./pyproject.toml: no such key",
  );
  expect(name(`Building tiny @ file://${draft}/build/project/libs/tiny`)).toBe("Building tiny @ file://./libs/tiny");
  expect(name(`in ${draft}/build/project`)).toBe("in .");
  const spaced = nameBuildPaths({ ...places, draft: "/srv/of é/draft-1" });
  expect(spaced("tiny @ file:///srv/of%20%C3%A9/draft-1/build/project/tiny.whl")).toBe("tiny @ file://./tiny.whl");
});

test("names parts of the image, the cache, the home and the interpreter", () => {
  expect(name(`Creating virtual environment at: ${draft}/venv`)).toBe("Creating virtual environment at: <image>/venv");
  expect(name(`${draft}/system/usr/include/x.h`)).toBe("<image>/system/usr/include/x.h");
  expect(name(`${draft}/build/home/.config ${draft}/build/scratch/a`)).toBe("<home>/.config <scratch>/a");
  expect(name(`${places.cache_folder}/builds-v0/x`)).toBe("<cache>/builds-v0/x");
  expect(name(`Using CPython 3.12.4 interpreter at: ${places.python_prefix}/bin/python3.12`)).toBe(
    "Using CPython 3.12.4 interpreter at: <python>/bin/python3.12",
  );
  expect(name("/opt/tools/bin/uv sync")).toBe("uv sync");
});

test("keeps other drafts' folders, folders with a common prefix and system paths", () => {
  const ofSystem = nameBuildPaths({ ...places, python_prefix: "/usr" });
  expect(ofSystem("/usr/bin/gcc -I/usr/include/python3.11")).toBe("/usr/bin/gcc -I/usr/include/python3.11");
  expect(ofSystem(`${draft}-x/build`)).toBe(`${draft}-x/build`);
});
