import { appendFileSync, chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { splitWords } from "./split-words.ts";

/** Lines that a shell remembers. The file has more until the next shell starts. */
export const MAX_HISTORY = 1_000;

/** The typed lines of previous shells, in a private file of the home. */
export interface History {
  /** The oldest first. */
  readonly lines: readonly string[];
  add(line: string): void;
}

/** Reads the history of a home. @throws the system's error */
export function openHistory(home: string): History {
  const path = join(home, HOME_PATHS.shellHistory);
  const all = (readIfExists(() => readFileSync(path, "utf8")) ?? "").split("\n").filter((line) => line !== "");
  const lines = all.slice(-MAX_HISTORY);
  if (all.length > lines.length) writePrivateFile(path, `${lines.join("\n")}\n`);
  let last = lines.at(-1);
  return {
    lines,
    add: (line) => {
      if (line === last || line.trim() === "" || hasSecret(line)) return;
      makePrivateFolder(home);
      // shells at the same time append, each a whole line
      appendFileSync(path, `${line}\n`, { mode: 0o600 });
      chmodSync(path, 0o600);
      last = line;
    },
  };
}

/** Commands whose arguments can be secrets. */
const SECRETS = [["secret", "set"], ["login"]] as const;

/** Whether a line can contain a secret. */
export function hasSecret(line: string): boolean {
  const { words } = splitWords(line);
  const command = words[0] === "cli" ? words.slice(1) : words;
  return SECRETS.some((secret) => secret.every((word, at) => command[at] === word));
}
