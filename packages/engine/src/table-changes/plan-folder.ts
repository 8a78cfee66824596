import { appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import type { Catalog } from "../catalog/catalog.ts";
import { refuseDevices } from "../catalog/folders.ts";
import { folderSchema } from "../target.ts";
import type { ChangeInput, FolderMove, Of, Step } from "./change-step.ts";
import { nameOf, refuseDependents } from "./dependents.ts";
import { findStored, type Stored } from "./read-declaration.ts";

/** @throws folder_exists, invalid_target, invalid_name */
export function createFolder(input: ChangeInput, { folder: text, if_exists: ifExists }: Of<"create_folder">): Step {
  const { folder, path } = folderOf(input, text);
  if (!input.folders.some((name) => isIn(folder, name))) {
    refuseDevices(folder, input.folders);
    return { kind: "create_folder", folder };
  }
  if (ifExists !== "error") return { kind: "nothing" };
  throw folderExists(path);
}

function folderExists(path: string): Error {
  return appError("folder_exists", {
    detail: `The folder ${path} exists already.`,
    hint: `List its tables: cli ls ${path}`,
    meta: { folder: path },
  });
}

/** Whether a path is that of a folder, which may only have folders. */
export function isFolder({ folders }: ChangeInput, path: string): boolean {
  const folder = folderSchema(path);
  return folders.some((name) => isIn(folder, name));
}

/** @throws folder_exists, invalid_target, invalid_name */
export function moveFolder(input: ChangeInput, { table, to: text }: Of<"move_table">): Step {
  const { catalog, folders } = input;
  const { folder, path } = folderOf(input, table);
  const to = folderOf(input, text);
  if (folder === to.folder) return { kind: "nothing" };
  if (isIn(folder, to.folder)) {
    throw appError("invalid_target", {
      detail: `The folder ${path} cannot move into itself: ${to.path}.`,
      hint: "Name a folder outside of it.",
      meta: { folder: path },
    });
  }
  if (isFolder(input, to.path)) throw folderExists(to.path);
  refuseDevices(to.folder, folders);
  const inside = folders.filter((name) => isIn(folder, name));
  for (const name of inside) folderOf(input, movedName(name, { folder, to: to.folder }));
  return { kind: "move_folder", folder, to: to.folder, inside, moved: storedIn(catalog, folder) };
}

/** The path of a folder, or of what is in it, after its move. */
export function movedName(name: string, { folder, to }: Pick<FolderMove, "folder" | "to">): string {
  return `${to}${name.slice(folder.length)}`;
}

/** @throws folder_not_found, has_dependents, invalid_target */
export function dropFolder(input: ChangeInput, change: Of<"drop_folder">): Step {
  const { catalog, folders } = input;
  const { folder, path } = folderOf(input, change.folder);
  const inside = folders.filter((name) => isIn(folder, name));
  if (inside.length === 0 && change.if_not_exists === "ignore") return { kind: "nothing" };
  if (inside.length === 0) {
    throw appError("folder_not_found", {
      detail: `The folder ${path} does not exist.`,
      hint: folders.length === 0 ? "The database has no folder." : `Its folders are: ${folders.join(", ")}`,
      meta: { folder: path },
    });
  }
  const dropped = storedIn(catalog, folder);
  if (!change.force) {
    const content = dropped.map((one) => `'${(one.view ?? one.table).folder}/${nameOf(one)}'`);
    const below = inside.filter((name) => name !== folder).map((name) => `the folder '${name}'`);
    refuseDependents(`The folder ${path}`, [...content, ...below], `With its content: cli drop-dir ${path} -r`);
  }
  return { kind: "drop", dropped, folders: inside };
}

/** The tables and views of a folder, and of those below it. Views come before what they are over. */
export function storedIn(catalog: Catalog, folder: string): readonly Stored[] {
  const views = catalog.views.filter((view) => isIn(folder, view.folder)).toReversed();
  const tables = catalog.tables.filter((table) => isIn(folder, table.folder));
  return [
    ...views.flatMap(({ folder: of, name }) => findStored(catalog, of, name) ?? []),
    ...tables.map((table): Stored => ({ table })),
  ];
}

/** @throws invalid_target */
function folderOf({ database }: ChangeInput, text: string): { readonly path: string; readonly folder: string } {
  const { text: path } = parseTarget(`${database}/${text}`);
  return { path, folder: folderSchema(path) };
}

function isIn(folder: string, name: string): boolean {
  return name === folder || name.startsWith(`${folder}/`);
}
