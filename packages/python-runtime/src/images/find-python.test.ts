import { expect, test } from "vitest";
import { defaultPythonName, findPython, type PythonSearch } from "./find-python.ts";

const PYTHON = "C:\\Users\\me\\AppData\\Local\\Programs\\Python\\Python312\\python.exe";

function windows(there: readonly string[], launched?: string): PythonSearch & { asked: string[][] } {
  const asked: string[][] = [];
  const ask = (program: string, args: readonly string[]) => {
    asked.push([program, ...args]);
    return launched;
  };
  return { platform: "win32", isThere: (path) => there.includes(path), ask, asked };
}

test("finds a name on the PATH of Windows with its extension", () => {
  const env = { PATH: "C:\\Windows;C:\\Python" };
  expect(findPython("python", env, windows(["C:\\Python\\python.exe"]))).toBe("C:\\Python\\python.exe");
});

test("asks the launcher of Windows for a version", () => {
  const search = windows(["C:\\Windows\\py.exe"], `${PYTHON}\r\n`);
  expect(findPython("3.12", { PATH: "C:\\Windows" }, search)).toBe(PYTHON);
  expect(search.asked).toEqual([["C:\\Windows\\py.exe", "-3.12", "-c", "import sys; print(sys.executable)"]]);
});

test("refuses a version that the launcher does not know", () => {
  expect(() => findPython("3.12", { PATH: "C:\\Windows" }, windows(["C:\\Windows\\py.exe"]))).toThrow(
    expect.objectContaining({ code: "python_not_found", hint: expect.stringContaining("python.exe") }),
  );
});

test("uses a path as it is, with or without slashes", () => {
  expect(findPython("C:/Python/python.exe", {}, windows([]))).toBe("C:\\Python\\python.exe");
});

test("looks for the plain name on other systems, without a launcher", () => {
  const linux: PythonSearch = { platform: "linux", isThere: (path) => path === "/opt/bin/python3.12", ask: () => "no" };
  expect(findPython("3.12", { PATH: "/usr/bin:/opt/bin" }, linux)).toBe("/opt/bin/python3.12");
  expect(() => findPython("3.13", { PATH: "/usr/bin:/opt/bin" }, linux)).toThrow("No python3.13 on the PATH");
  expect([defaultPythonName("linux"), defaultPythonName("win32")]).toEqual(["python3", "python"]);
});
