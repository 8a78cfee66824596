import { linkSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { readMajorVersion } from "@appdb/postgres/cluster/cluster";
import { ensureTemplate, templateFolder } from "@appdb/postgres/cluster/cluster-template";
import { inject } from "vitest";
import { findPostgresBin } from "./postgres-binaries.ts";
import "./cluster-template-setup.ts";

/**
 * Gives the run's template of clusters to the home of a server that has not started yet: each server would make an equal
 * one, in a second of computing. Its files are links, because servers only read them.
 */
export async function linkClusterTemplate(home: string): Promise<void> {
  const bin = findPostgresBin();
  const template = templateFolder(inject("template_folder"), await readMajorVersion(bin));
  const server = join(home, "server");
  for (const path of [home, server]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const parent = join(server, "template");
  const folder = join(parent, basename(template));
  const isThere = statSync(folder, { throwIfNoEntry: false }) !== undefined;
  // some homes are on a small disk of their own
  if (isThere || statSync(home).dev !== statSync(inject("template_folder")).dev) return;
  await ensureTemplate(bin, template);
  const entries = readdirSync(template, { recursive: true, withFileTypes: true });
  const pathsOf = (isFolder: boolean) =>
    entries
      .filter((entry) => entry.isDirectory() === isFolder)
      .map((entry) => join(entry.parentPath, entry.name).slice(template.length))
      .sort();
  for (const path of [parent, folder]) mkdirSync(path, { recursive: true, mode: 0o755 });
  for (const path of pathsOf(true)) mkdirSync(join(folder, path), { mode: 0o755 });
  for (const path of pathsOf(false)) linkSync(join(template, path), join(folder, path));
}
