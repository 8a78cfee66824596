import { isPlaceholder, parseDatabaseUri } from "@appdb/contract/names";
import type { DatabaseEntry } from "@appdb/contract/service-toml";
import type { Project } from "./find-project.ts";
import { readConfig } from "./read-config.ts";

export interface HostedEntry {
  /** Canonical form. */
  readonly uri: string;
  /** Without the name. */
  readonly settings: Omit<DatabaseEntry, "name">;
}

/** Entries of a project's hosted databases, without those that still contain a placeholder. @throws config_invalid */
export function readHostedEntries(project: Project): HostedEntry[] {
  return (readConfig(project).database ?? []).flatMap(({ name, ...settings }) =>
    name === undefined || isPlaceholder(name) ? [] : [{ uri: parseDatabaseUri(name).text, settings }],
  );
}
