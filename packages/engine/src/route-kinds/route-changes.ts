/** What changes of a route for its clients, as parts of a sentence. */
export interface RouteChanges {
  readonly breaking: string[];
  readonly harmless: string[];
}

interface Names {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Notes which inputs and outputs come and go. An input that a client may leave out breaks no client. */
export function compareNames(
  before: Names,
  after: Names,
  isOptionalInput: (name: string) => boolean,
  { breaking, harmless }: RouteChanges,
): void {
  const added = missing(after.inputs, before.inputs);
  const required = added.filter((name) => !isOptionalInput(name));
  note(breaking, "input", "no longer taken", missing(before.inputs, after.inputs));
  note(breaking, "output", "no longer answered", missing(before.outputs, after.outputs));
  note(breaking, "input", "required", required);
  note(harmless, "optional input", "added", added.filter(isOptionalInput));
  note(harmless, "output", "added", missing(after.outputs, before.outputs));
  if (breaking.length + harmless.length === 0 && !sameOrder(before.outputs, after.outputs)) {
    harmless.push("its outputs are in another order");
  }
}

/** Notes columns by which rows are found: a request brings all of them. */
export function compareRequired(
  what: string,
  before: readonly string[],
  after: readonly string[],
  { breaking }: RouteChanges,
): void {
  note(breaking, what, "no longer taken", missing(before, after));
  note(breaking, what, "required", missing(after, before));
}

/** The names that only the first list has. */
export function missing(from: readonly string[], other: readonly string[]): string[] {
  return from.filter((name) => !other.includes(name));
}

function note(into: string[], what: string, how: string, names: readonly string[]): void {
  if (names.length === 0) return;
  into.push(`${what}${names.length > 1 ? "s" : ""} ${names.join(", ")} ${how}`);
}

function sameOrder(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name, index) => name === right[index]);
}
