import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Creates a folder of links to all programs of PATH except these and returns it: a PATH without them. */
export function pathWithout(names: readonly string[], folder: string): string {
  mkdirSync(folder, { recursive: true });
  const left = new Set<string>(names);
  for (const part of (process.env.PATH ?? "").split(delimiter)) {
    if (part === "" || !existsSync(part) || !statSync(part).isDirectory()) continue;
    for (const name of readdirSync(part)) {
      if (left.has(name) || !isProgram(join(part, name))) continue;
      left.add(name);
      symlinkSync(join(part, name), join(folder, name));
    }
  }
  return folder;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    // a broken link, or an inaccessible program
    return false;
  }
}
