import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { DatabaseOp } from "@appdb/contract/routes/control-databases";

/** Maximum lines that a plan shows of a list that may have thousands. */
const MAX_LINES = 20;

/** Plans the change of the project files. Undefined if they are the same. */
export function planFiles(
  before: readonly TreeEntry[] | undefined,
  after: readonly TreeEntry[],
): DatabaseOp | undefined {
  const previous = new Map((before ?? []).map((entry) => [entry.path, entry]));
  const now = new Map(after.map((entry) => [entry.path, entry]));
  const added = after.filter(({ path }) => !previous.has(path));
  const changed = after.filter((entry) => isDifferent(previous.get(entry.path), entry));
  const removed = [...previous.values()].filter(({ path }) => !now.has(path));
  const counts = { added: added.length, changed: changed.length, removed: removed.length };
  if (counts.added + counts.changed + counts.removed === 0) return undefined;
  const paths = [
    ...changed.map(({ path }) => `~ ${path}`),
    ...added.map(({ path }) => `+ ${path}`),
    ...removed.map(({ path }) => `- ${path}`),
  ];
  return {
    target: "files",
    op: "upload",
    severity: "additive",
    description: describe(before === undefined || before.length === 0, counts),
    lines: shortenLines(paths),
    // services move to the new files by their own update
    requires_restart: false,
    details: counts,
  };
}

/** The first lines, and the number of the rest. */
export function shortenLines(lines: readonly string[]): string[] {
  if (lines.length <= MAX_LINES) return [...lines];
  return [...lines.slice(0, MAX_LINES), `... and ${lines.length - MAX_LINES} more`];
}

function describe(isFirst: boolean, counts: { added: number; changed: number; removed: number }): string {
  if (isFirst) return `${counts.added} ${counts.added === 1 ? "project file" : "project files"} will be uploaded`;
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return `the project files will change: ${parts.map(([what, count]) => `${count} ${what}`).join(", ")}`;
}

function isDifferent(before: TreeEntry | undefined, after: TreeEntry): boolean {
  return before !== undefined && contentOf(before) !== contentOf(after);
}

function contentOf({ chunks, is_executable: isExecutable, link, size }: TreeEntry): string {
  return JSON.stringify([size, isExecutable, chunks, link]);
}
