import type { Manifest } from "@appdb/contract/manifest";

const MAX_NAMES = 5;

/** Changes in the files that an application imports, as words: `app.py changed`. Empty when the declarations are
 *  equal. */
export function compareFiles(before: Manifest, after: Manifest): string[] {
  const changes = compareMaps(
    new Map(before.modules.map((module) => [module.path, module.sha256])),
    new Map(after.modules.map((module) => [module.path, module.sha256])),
  );
  // A manifest can also change without a change of files, through another version of a library.
  return changes.length > 0 || JSON.stringify(before) === JSON.stringify(after)
    ? changes
    : ["the application's declarations changed"];
}

/** The differing names of two maps, as words, sorted. */
export function compareMaps(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names.flatMap((name) => {
    if (!before.has(name)) return [`${name} added`];
    if (!after.has(name)) return [`${name} removed`];
    return before.get(name) === after.get(name) ? [] : [`${name} changed`];
  });
}

/** The first changes, and the number of the others. */
export function listChanges(changes: readonly string[]): string {
  const more = changes.length - MAX_NAMES;
  return changes.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
