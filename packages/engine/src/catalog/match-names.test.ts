import { expect, test } from "vitest";
import { matchNames } from "./match-names.ts";

/** Each declared name with the stored one that holds its data; `!` marks a refused rename. */
function matched(stored: readonly string[], declared: readonly string[]): readonly string[] {
  const read = (text: string) => {
    const [name = "", renamedFrom = null] = text.split("<");
    return { name, renamed_from: renamedFrom };
  };
  return matchNames(stored.map(read), declared.map(read)).map(
    ({ declared: { name }, stored: found, refusal }) => `${name}=${found?.name ?? ""}${refusal === null ? "" : "!"}`,
  );
}

test("without renamed_from, the same name is the same column", () => {
  expect(matched(["a", "b"], ["b", "c"])).toEqual(["b=b", "c="]);
});

test("a declared rename finds the data under the previous name, once", () => {
  expect(matched(["old"], ["new<old"])).toEqual(["new=old"]);
  expect(matched(["new<old"], ["new<old"])).toEqual(["new=new"]);
  expect(matched(["new"], ["new<old"])).toEqual(["new=new"]);
  expect(matched([], ["new<old"])).toEqual(["new="]);
});

test("a previous name that is used again later is a new column", () => {
  expect(matched(["new<old"], ["new<old", "old"])).toEqual(["new=new", "old="]);
  expect(matched(["new<old", "old"], ["new<old", "old"])).toEqual(["new=new", "old=old"]);
});

test("a chain moves every name by one", () => {
  expect(matched(["a", "b", "c"], ["b<a", "c<b", "d<c"])).toEqual(["b=a", "c=b", "d=c"]);
});

test("two names are swapped once, however often the file is applied", () => {
  expect(matched(["a", "b"], ["a<b", "b<a"])).toEqual(["a=b", "b=a"]);
  expect(matched(["a<b", "b<a"], ["a<b", "b<a"])).toEqual(["a=a", "b=b"]);
});

test("refuses renames onto existing names and from names that are kept", () => {
  expect(matched(["a", "b"], ["b<a"])).toEqual(["b=b!"]);
  expect(matched(["a"], ["a", "b<a"])).toEqual(["a=a", "b=!"]);
});

test("a chain with a refused end is refused completely", () => {
  expect(matched(["a", "b", "c"], ["b<a", "c<b"])).toEqual(["b=b!", "c=c!"]);
});
