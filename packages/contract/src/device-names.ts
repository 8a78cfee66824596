import { appError } from "./errors.ts";

/** Files and folders of these names cannot be made on Windows, in any case and with any ending. */
const DEVICE = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?$/i;

/**
 * Why a new database, folder or organization cannot have a name; undefined if it can. `parseName` accepts it, because
 * those that exist keep theirs.
 */
export function findDeviceName(kind: "database" | "folder" | "organization", name: string): Error | undefined {
  if (!DEVICE.test(name)) return undefined;
  return appError("invalid_name", {
    detail: `'${name}' cannot be the name of a new ${kind}: Windows keeps this name for a device.`,
    hint: `Write for example: my-${name.split(".")[0]}`,
    meta: { kind, name },
  });
}

/** @throws invalid_name for the name of a device */
export function refuseDeviceName(kind: "database" | "folder" | "organization", name: string): void {
  const refused = findDeviceName(kind, name);
  if (refused !== undefined) throw refused;
}
