import { expect, test } from "vitest";
import { nameProblem } from "./name-problem.ts";

test.each([[""], ["acme"], ["a"], ["3d-models"], ["a".repeat(29)]])("%j has no problem", (name) => {
  expect(nameProblem("organization", name)).toBeUndefined();
});

test("a capital letter is a problem, and a valid name is proposed", () => {
  expect(nameProblem("organization", "Acme")).toBe(
    "'Acme' is not a valid organization name: names have lower-case letters, digits and '-', and a letter or digit at both ends. " +
      "Write for example: acme",
  );
});

test("a name that is too long gives its length", () => {
  expect(nameProblem("organization", "a".repeat(30))).toContain("it has 30 characters, the maximum is 29");
});

test("the name of a device of Windows is a problem", () => {
  expect(nameProblem("database", "con")).toBe(
    "'con' cannot be the name of a new database: Windows keeps this name for a device. Write for example: my-con",
  );
});

test("a look-alike letter is a problem", () => {
  expect(nameProblem("organization", "аcme")).toContain("is not a valid organization name");
});
