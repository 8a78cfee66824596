/** A version of Python as numbers: `3.12.8` is `[3, 12, 8]`. */
export type PythonVersion = readonly [number, number, number];

/** Whether a version matches a request: `3.12` matches each of its patches. */
export function isOfVersion(version: PythonVersion, specifier: string): boolean {
  return specifier.split(".").every((part, at) => Number(part) === version[at]);
}

/** `requires-python` of a lock: `>=3.11,<3.14`. Undefined when it has none. */
export function readRequiresPython(lock: string): string | undefined {
  return /^requires-python = "([^"]*)"/m.exec(lock)?.[1];
}

/**
 * Whether a version satisfies `requires-python` conditions (PEP 440, final versions). A condition that the parser does
 * not understand matches nothing.
 */
export function satisfies(version: PythonVersion, conditions: string): boolean {
  return conditions
    .split(",")
    .map((condition) => condition.trim())
    .every((condition) => condition === "" || satisfiesOne(version, condition));
}

function satisfiesOne(version: PythonVersion, condition: string): boolean {
  const [, sign, text = "", star] = /^(~=|===?|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?$/.exec(condition) ?? [];
  const versionParts = text.split(".").map(Number);
  const order = compare(version, versionParts);
  const begins = (parts: readonly number[]) => parts.every((part, at) => part === (version[at] ?? 0));
  switch (sign) {
    case "==":
    case "===":
      return star === undefined ? order === 0 : begins(versionParts);
    case "!=":
      return star === undefined ? order !== 0 : !begins(versionParts);
    case "~=":
      return versionParts.length > 1 && order >= 0 && begins(versionParts.slice(0, -1));
    case "<=":
      return order <= 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case ">":
      return order > 0;
    default:
      return false;
  }
}

/** Negative when the first is older. Missing parts count as 0. */
export function compare(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
