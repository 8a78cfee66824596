/**
 * 1-based line of a key in a TOML text: `["service", "database", 1, "cpu"]` is `cpu` below the second
 * `[[service.database]]`. Reads headers and `key =` lines, the usual style. For a key in an inline table or in other
 * syntax, it returns the line of the nearest found part, or undefined. The TOML parser does not keep positions.
 */
export function findKeyLine(text: string, path: readonly PropertyKey[]): number | undefined {
  let best: { parts: number; line: number } | undefined;
  const counts = new Map<string, number>();
  let here: readonly PropertyKey[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const header = /^\s*(\[\[?)\s*([^[\]]+?)\s*\]/.exec(raw);
    let at: readonly PropertyKey[];
    if (header !== null) {
      here = locateHeader(splitKey(header[2] ?? ""), header[1] === "[[", counts);
      at = here;
    } else {
      const key = /^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=/.exec(raw);
      if (key === null) continue;
      at = [...here, ...splitKey(key[1] ?? "")];
    }
    if (!startsWith(path, at) || at.length <= (best?.parts ?? 0)) continue;
    best = { parts: at.length, line: index + 1 };
  }
  return best?.line;
}

/** Adds the table's index to the path of an array header and of the keys below it. */
function locateHeader(names: readonly string[], isArray: boolean, counts: Map<string, number>): PropertyKey[] {
  const name = names.join("\0");
  if (isArray) counts.set(name, (counts.get(name) ?? -1) + 1);
  const path: PropertyKey[] = [];
  for (const [index, part] of names.entries()) {
    path.push(part);
    const count = counts.get(names.slice(0, index + 1).join("\0"));
    if (count !== undefined) path.push(count);
  }
  return path;
}

function splitKey(text: string): string[] {
  return (text.match(/"[^"]*"|'[^']*'|[^.\s]+/g) ?? []).map((part) => part.replace(/^["']|["']$/g, ""));
}

function startsWith(path: readonly PropertyKey[], start: readonly PropertyKey[]): boolean {
  return start.length <= path.length && start.every((part, index) => path[index] === part);
}
