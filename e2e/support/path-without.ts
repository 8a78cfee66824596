import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Makes a folder of links to every program of PATH but these, and answers it: a PATH on which they are not installed. */
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
    // a dangling link, or a program of somebody else's
    return false;
  }
}
