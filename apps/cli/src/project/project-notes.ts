import type { Project } from "./find-project.ts";
import type { ProjectTree } from "./read-tree.ts";
import { SECRET_REASON } from "./select-files.ts";

/** Notes for the user about uploaded and excluded files, one sentence each. */
export function projectNotes(input: {
  readonly project: Pick<Project, "config_file">;
  readonly uri: string;
  readonly has_entry: boolean;
  readonly tree: Pick<ProjectTree, "entries" | "left_out">;
  /** Whether the database exists; missing settings were reported when it was created. */
  readonly is_known?: boolean;
}): string[] {
  const { has_entry: hasEntry, is_known: isKnown = false, project, tree, uri } = input;
  return [
    ...(hasEntry || isKnown ? [] : [missingEntry(project, uri)]),
    ...excludedNotes(tree.left_out),
    ...caseNotes(tree.entries),
    ...(tree.entries.length === 0 ? ["The project has no files to send."] : []),
  ];
}

const MAX_LINES = 10;

function excludedNotes(excluded: ProjectTree["left_out"]): string[] {
  const secrets = excluded.filter(({ reason }) => reason === SECRET_REASON).map(({ path }) => path);
  const others = excluded.filter(({ reason }) => reason !== SECRET_REASON);
  const more = others.length - MAX_LINES;
  return [
    ...(secrets.length === 0
      ? []
      : [
          `Excluded, because ${secrets.length === 1 ? "it" : "they"} may contain secrets: ${listOf(secrets)}. Set values with cli secret set, or list the file in include.`,
        ]),
    ...others.slice(0, MAX_LINES).map(({ path, reason }) => `${shown(path)} is excluded: it ${reason}.`),
    ...(more > 0 ? [`${more} more are excluded.`] : []),
  ];
}

/** On machines with case-insensitive file systems, users see only one of two such files. */
function caseNotes(entries: ProjectTree["entries"]): string[] {
  const seen = new Map<string, string>();
  const twins: string[] = [];
  for (const { path } of entries) {
    const folded = path.normalize("NFC").toLowerCase();
    const other = seen.get(folded);
    if (other !== undefined) twins.push(`${shown(other)} and ${shown(path)}`);
    seen.set(folded, path);
  }
  if (twins.length === 0) return [];
  return [`Names that differ only in upper and lower case are one file on macOS and Windows: ${listOf(twins)}.`];
}

function missingEntry({ config_file: configFile }: Pick<Project, "config_file">, uri: string): string {
  const header = configFile === "pyproject.toml" ? "[[tool.service.database]]" : "[[service.database]]";
  return `${configFile} has no entry for ${uri}; defaults are used. To configure it, add:\n\n    ${header}\n    name = "${uri}"\n`;
}

function listOf(names: readonly string[]): string {
  const more = names.length - MAX_LINES;
  return names.slice(0, MAX_LINES).map(shown).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function shown(path: string): string {
  return JSON.stringify(path).slice(1, -1);
}
