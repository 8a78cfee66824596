import { existsSync } from "node:fs";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { HOME_STORE } from "@appdb/contract/media-place";
import { MEDIA_SCHEME } from "@appdb/contract/media-uri";
import { parseTarget } from "@appdb/contract/names";
import { printStoreAddress, readStoreAddress, STORE_FORMS } from "@appdb/media/stores/media-address";

/**
 * Refuses `destination=` of columns that the target cannot store files at. Without a target only the addresses are
 * checked. @throws app_invalid with file and line
 */
export function checkDestinations(
  { tables }: { readonly tables: readonly Pick<Manifest["tables"][number], "name" | "columns">[] },
  target: string | undefined,
): void {
  const own = target === undefined ? undefined : ownStore(target);
  for (const table of tables) {
    for (const { name, source, type } of table.columns) {
      const { destination } = type;
      const problem = destination === undefined ? undefined : findProblem(destination, own);
      if (problem === undefined) continue;
      throw appError("app_invalid", {
        detail: `${source.file}:${source.line}: destination= of column ${table.name}.${name} is '${destination}', ${problem[0]}.`,
        hint: problem[1],
        meta: { table: table.name, column: name, destination },
      });
    }
  }
}

/** The media store of a hosted target; undefined for a local one. */
function ownStore(target: string): string | undefined {
  const parsed = parseTarget(target);
  if (parsed.kind !== "hosted") return undefined;
  return `${MEDIA_SCHEME}${parsed.uri.organization}:${parsed.uri.database}/${HOME_STORE}`;
}

/** A folder that is not there. Functions run on this machine for a local database. */
export function findMissing(folder: string): [problem: string, hint: string] | undefined {
  // with a slash at its end, the path of a file does not exist
  if (existsSync(`${folder}/`)) return undefined;
  return ["a folder that does not exist on this machine", `Create the folder: mkdir -p ${folder}`];
}

/** What is wrong, and what to do instead. */
function findProblem(destination: string, own: string | undefined): [problem: string, hint: string] | undefined {
  const address = readStoreAddress(destination);
  if (address === undefined) return ["which is not the address of a store", `Use one of ${STORE_FORMS}.`];
  if (own === undefined) return address.kind === "file" ? findMissing(address.path) : undefined;
  const hint = `Leave destination= out to store the files in ${own}, or name a bucket: s3://bucket/prefix`;
  if (address.kind === "file") return ["a folder, which a hosted database does not have", hint];
  if (address.kind !== "mediafs" || printStoreAddress(address) === own) return undefined;
  const isFolder = printStoreAddress({ ...address, prefix: "" }) === own;
  const problem = isFolder
    ? "a folder of the database's media store, which names files by their content"
    : "the media store of another database";
  return [problem, hint];
}
