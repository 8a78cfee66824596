/** Changes of a route for its clients, as parts of a sentence. */
export interface RouteChanges {
  readonly breaking: string[];
  readonly compatible: string[];
}

interface Names {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Notes added and removed inputs and outputs. A new optional input does not break clients. */
export function compareNames(
  before: Names,
  after: Names,
  isOptionalInput: (name: string) => boolean,
  { breaking, compatible }: RouteChanges,
): void {
  const added = missing(after.inputs, before.inputs);
  const required = added.filter((name) => !isOptionalInput(name));
  note(breaking, "input", "no longer accepted", missing(before.inputs, after.inputs));
  note(breaking, "output", "no longer returned", missing(before.outputs, after.outputs));
  note(breaking, "input", "required", required);
  note(compatible, "optional input", "added", added.filter(isOptionalInput));
  note(compatible, "output", "added", missing(after.outputs, before.outputs));
  if (breaking.length + compatible.length === 0 && !sameOrder(before.outputs, after.outputs)) {
    compatible.push("the order of its outputs changed");
  }
}

/** Notes changed columns that select rows. Every request has all of them. */
export function compareRequired(
  what: string,
  before: readonly string[],
  after: readonly string[],
  { breaking }: RouteChanges,
): void {
  note(breaking, what, "no longer accepted", missing(before, after));
  note(breaking, what, "required", missing(after, before));
}

/** Notes a route that now returns a file instead of JSON, or the reverse. */
export function compareFileResponse(
  before: { readonly file_response?: boolean | undefined },
  after: { readonly file_response?: boolean | undefined },
  { breaking }: RouteChanges,
): void {
  const [was, is] = [before.file_response === true, after.file_response === true];
  if (was !== is) breaking.push(is ? "it returns a file" : "it returns JSON instead of a file");
}

/** Notes columns whose files come as parts of a form. A file may always be given by its address instead. */
export function compareUploads(before: readonly string[], after: readonly string[], into: RouteChanges): void {
  note(into.breaking, "upload", "no longer accepted", missing(before, after));
  note(into.compatible, "upload", "added", missing(after, before));
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
