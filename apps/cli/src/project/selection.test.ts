import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createSelector, isSecretName, SECRET_NAMES } from "./selection.ts";

test("docs/project-files.md lists all names of possible secrets", () => {
  const page = readFileSync(new URL("../../../../docs/project-files.md", import.meta.url), "utf8");
  const section = page.slice(page.indexOf("### Files that may contain a secret"), page.indexOf("### Links"));
  expect([...section.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(
    expect.arrayContaining([...SECRET_NAMES]),
  );
});

test.each([".env", ".ENV.production", "x.pem", "id_rsa.pub", "credentials", "Credentials-1.json", ".netrc"])(
  "%s may contain a secret",
  (name) => expect(isSecretName(name)).toBe(true),
);

test.each([".env.example", "env.py", "keys.py", "credentials.py", "monkey", "pem.txt", "my_id_rsa"])(
  "%s is an ordinary file",
  (name) => expect(isSecretName(name)).toBe(false),
);

test.each([
  [["models/v1/"], "models", true],
  [["models/v1/"], "models/v1/deep", true],
  [["models/v1/"], "models/v2", false],
  [["/models/*/a.bin"], "models/v2", true],
  [["/models/*/a.bin"], "models/v2/deep", false],
  [["data/**/x"], "data/a/b/c", true],
  [["a.bin"], "anything/at/all", true],
  [["!models/v1"], "models", false],
  [[], "models", false],
])("with include = %j, the ignored folder %s is entered: %s", (include, folder, isEntered) => {
  expect(createSelector({ include }).enters(folder, true, [])).toBe(isEntered);
});
