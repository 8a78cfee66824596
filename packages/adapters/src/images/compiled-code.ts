import type { Dirent } from "node:fs";
import { link, lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isRealFolder } from "./image-folder.ts";

const AT_ONCE = 16;
const COMPILED = "__pycache__";

/**
 * Gives modules of a new environment the compiled code that a former one of the same Python has for them: compiling takes much longer
 * than installing, and an environment is read-only when it runs. A module is the same only where both are one file (uv links them from
 * its cache). Links are not followed, for a build may have left some. Returns how many modules have none then.
 */
export async function takeCompiled(former: string | undefined, site_packages: string): Promise<number> {
  const waiting = [""];
  let missing = 0;
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const here = part;
    const entries = await readdir(join(site_packages, here), { withFileTypes: true });
    for (const { name } of entries.filter((entry) => entry.isDirectory() && entry.name !== COMPILED))
      waiting.push(join(here, name));
    const sources = entries
      .filter((entry) => entry.isFile() && entry.name.endsWith(".py"))
      .map(({ name }) => name.slice(0, -3));
    missing += sources.length;
    if (former === undefined || sources.length === 0) continue;
    missing -= await takeFolder(join(former, here), join(site_packages, here), new Set(sources));
  }
  return missing;
}

async function takeFolder(former: string, folder: string, sources: ReadonlySet<string>): Promise<number> {
  if (!isRealFolder(former) || !isRealFolder(join(former, COMPILED))) return 0;
  const compiled = (await readdir(join(former, COMPILED), { withFileTypes: true })).filter((entry) => {
    return entry.isFile() && entry.name.endsWith(".pyc") && sources.has(moduleOf(entry));
  });
  if (compiled.length === 0) return 0;
  const target = join(folder, COMPILED);
  await mkdir(target, { recursive: true });
  if (!isRealFolder(target)) return 0;
  let taken = 0;
  for (let at = 0; at < compiled.length; at += AT_ONCE) {
    await Promise.all(
      compiled.slice(at, at + AT_ONCE).map(async (entry) => {
        const source = `${moduleOf(entry)}.py`;
        if (!(await isOneFile(join(former, source), join(folder, source)))) return;
        await linkOnce(join(former, COMPILED, entry.name), join(target, entry.name));
        taken++;
      }),
    );
  }
  return taken;
}

/** `x.cpython-312.pyc` -> `x` */
function moduleOf(entry: Dirent): string {
  return entry.name.split(".", 1)[0] ?? "";
}

async function isOneFile(a: string, b: string): Promise<boolean> {
  try {
    const [one, other] = await Promise.all([lstat(a), lstat(b)]);
    return one.ino === other.ino && one.dev === other.dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function linkOnce(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    // a package may bring its own
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
