import { describe, expect, test } from "vitest";
import { guessApplication, guessDaemon } from "./guess-application.ts";

describe("guessApplication", () => {
  test.each([
    ["schema diff app.py main", { file: "app.py", python: undefined }],
    ["schema check app.py", { file: "app.py", python: undefined }],
    ["service run src/app.py main ingest --port 8000 --json", { file: "src/app.py", python: undefined }],
    ["schema update app.py main --python python3.12", { file: "app.py", python: "python3.12" }],
    ["schema update app.py main --python=.venv/bin/python -f", { file: "app.py", python: ".venv/bin/python" }],
  ])("%s reads what it names", (line, guess) => {
    expect(guessApplication(line.split(" "))).toEqual(guess);
  });

  test.each([
    "",
    "init",
    "schema",
    "schema diff",
    "schema diff --json app.py main",
    "schema diff app.py --json main",
    "schema diff app.py cloud://acme:main",
    "schema diff app.py main --help",
    "schema diff app.py main --python",
    "schema diff app.py main --python --json",
    "schema diff app main",
    "service example --out app.py",
    "service list app.py",
    "service stop main/app.py",
  ])("does not guess for %s", (line) => {
    expect(guessApplication(line.split(" "))).toBeUndefined();
  });
});

describe("guessDaemon", () => {
  const application = { file: "app.py", python: undefined };

  test.each([
    ["ls main", undefined],
    ["get main/docs 42 --json", undefined],
    ["schema diff app.py main", application],
  ])("%s calls the daemon", (line, read) => {
    expect(guessDaemon(line.split(" "), read)).toBe(true);
  });

  test.each([
    ["", undefined],
    ["ls cloud://acme:main", undefined],
    ["count main/docs --help", undefined],
    ["insert main/docs rows.jsonl", undefined],
    ["schema check app.py", application],
  ])("does not guess it for %s", (line, read) => {
    expect(guessDaemon(line.split(" "), read)).toBe(false);
  });
});
