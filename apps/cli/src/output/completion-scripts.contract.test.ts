import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { listCommands } from "../app.ts";
import { writeCompletions } from "./completion-scripts.ts";

const script = writeCompletions("bash", await listCommands());

/** Completions of a real bash for the last of these words. */
function complete(...words: string[]): string[] {
  const ask = `${script}\nCOMP_WORDS=(cli ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}
_cli_completions; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", ask], { encoding: "utf8" }).trim().split("\n");
}

describe("bash completes", () => {
  test("commands, verbs and options", () => {
    expect(complete("sch")).toEqual(["schema"]);
    expect(complete("schema", "")).toEqual(["diff", "update", "check", "prune", "example"]);
    expect(complete("schema", "update", "app.py", "--al")).toEqual(["--allow-destructive"]);
    expect(complete("init", "--j")).toEqual(["--json"]);
    expect(complete("completions", "--h")).toEqual(["--help"]);
  });

  test("files where a file is expected", () => {
    expect(complete("schema", "diff", "/etc/host")).toContain("/etc/hosts");
  });
});
