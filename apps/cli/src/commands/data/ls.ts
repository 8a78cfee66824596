import { parseTarget } from "@appdb/contract/names";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count, countRows } from "../../output/count.ts";
import { text } from "../parameters.ts";
import { type Listing, listingOf } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly tree: boolean;
}

/** A database, a folder of tables, a table or a view. */
interface Entry {
  readonly path: string;
  readonly kind: "database" | "folder" | "table" | "view";
  /** Null for a database and a folder. */
  readonly rows: number | null;
  readonly is_rows_estimated: boolean;
  readonly columns: number | null;
  readonly errors: number | null;
  /** Of a view: what it is over. */
  readonly view_of: string | null;
}

interface Listed {
  readonly target: string | null;
  readonly entries: readonly Entry[];
}

export const ls = defineCommand<Flags, [path?: string], Listed>({
  brief: "List tables, views and folders",
  examples: [
    ["cli ls", "the databases of this machine"],
    ["cli ls main", "its tables, views and folders"],
    ["cli ls cloud://acme:main --tree", "everything in a hosted database, views below their tables"],
    ["cli ls main/reports --json", "a folder, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        {
          brief: "A database or a folder of it: main, main/reports, cloud://acme:main",
          placeholder: "TARGET",
          parse: text,
          optional: true,
        },
      ],
    },
    flags: { tree: { kind: "boolean", brief: "Everything below, indented", default: false, withNegated: false } },
  },
  run: async (ctx, { tree }, typed) => {
    if (typed === undefined) {
      const { databases } = await (await ctx.daemon.ensure()).call("databaseList", {}, { signal: ctx.signal });
      return { target: null, entries: databases.map(({ name }) => entryOf(name, "database")) };
    }
    const { text: target } = parseTarget(typed);
    const listing = await listingOf(ctx, typed);
    return { target, entries: tree ? treeOf(target, listing) : levelOf(target, listing) };
  },
  render: ({ entries, target }, out, { tree }) => {
    if (entries.length === 0) {
      out.note(
        target === null
          ? "There are no databases. Make one: cli schema update app.py main"
          : `${target} has no tables.`,
      );
    }
    const lines = entries.map((entry) => [
      tree && target !== null ? `${"    ".repeat(depthOf(entry, target, entries))}${lastName(entry)}` : entry.path,
      entry.view_of === null ? entry.kind : `view of ${entry.view_of}`,
      rowsOf(entry),
      entry.columns === null ? "" : count(entry.columns, "column"),
      entry.errors ? count(entry.errors, "failed cell") : "",
    ]);
    for (const line of alignColumns(lines)) out.line(line);
  },
});

function entryOf(path: string, kind: Entry["kind"]): Entry {
  return { path, kind, rows: null, is_rows_estimated: false, columns: null, errors: null, view_of: null };
}

function tableEntry({ columns, errors, is_rows_estimated, path, rows, view_of: base }: DataTable): Entry {
  const kind = base === null ? "table" : "view";
  return { path, kind, rows, is_rows_estimated, columns: columns.length, errors, view_of: base };
}

function rowsOf({ is_rows_estimated, rows }: Entry): string {
  return rows === null ? "" : countRows({ is_rows_estimated, rows });
}

/** What is directly in a database or folder. A table itself is its only entry. */
function levelOf(target: string, { folders, tables }: Listing): Entry[] {
  const isDirect = (table: DataTable) => !table.path.slice(target.length + 1).includes("/");
  const deeper = [...folders, ...tables.filter((table) => !isDirect(table)).map(({ path }) => path)];
  const names = new Set(deeper.flatMap((path) => path.slice(target.length + 1).split("/", 1)).filter(Boolean));
  return [
    ...tables.filter(isDirect).map(tableEntry),
    ...[...names].map((name) => entryOf(`${target}/${name}`, "folder")),
  ].sort(byPath);
}

/** Everything, folders before their tables and views after what they are over. */
function treeOf(target: string, { folders, tables }: Listing): Entry[] {
  const inFolder = (folder: string): Entry[] => {
    const level = levelOf(folder, {
      tables: tables.filter(({ path }) => path.startsWith(`${folder}/`)),
      folders: folders.filter((path) => path.startsWith(`${folder}/`)),
    });
    const entries = level.filter(
      ({ view_of: base }) => base === null || !level.some((one) => isOver(base, one, folder)),
    );
    return entries.flatMap((entry) =>
      entry.kind === "folder" ? [entry, ...inFolder(entry.path)] : withViews(entry, level, folder),
    );
  };
  return inFolder(target);
}

function withViews(entry: Entry, level: readonly Entry[], folder: string): Entry[] {
  const views = level.filter(({ view_of: base }) => base !== null && isOver(base, entry, folder));
  return [entry, ...views.flatMap((view) => withViews(view, level, folder))];
}

/** Whether a path within the database is that of an entry of a folder. */
function isOver(base: string, { path }: Entry, folder: string): boolean {
  return path === `${folder}/${base.split("/").at(-1)}`;
}

/** Folders and views above an entry. */
function depthOf(entry: Entry, target: string, entries: readonly Entry[]): number {
  const folder = entry.path.slice(0, entry.path.lastIndexOf("/"));
  const base = entries.find((one) => entry.view_of !== null && isOver(entry.view_of, one, folder));
  return base === undefined
    ? entry.path.slice(target.length + 1).split("/").length - 1
    : depthOf(base, target, entries) + 1;
}

function lastName({ path }: Entry): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function byPath(a: Entry, b: Entry): number {
  return a.path < b.path ? -1 : 1;
}
