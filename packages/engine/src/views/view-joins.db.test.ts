import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";

/** Views with a condition in SQL, with one that is computed, and with an iterator, joined in every way. */
const KINDS = ["inner", "left", "right", "full"] as const;

const VIEWS = ["Cheap", "Loud", "Part", "LaterPart"] as const;

const labelOf = (model: string): string => (model === "Bread" ? "Bread.text" : `${model}.label`);

const queryOf = (kind: string, name: string, first: string, second: string, on: string) => `
@db.query
def ${kind}_${name}():
    both = ${first}.join(${second}, on=${on}, how="${kind}")
    return both.select(a=${first}.id, b=${second}.id, x=${labelOf(first)}, y=${labelOf(second)})
`;

const each = KINDS.flatMap((kind) => [
  ...VIEWS.flatMap((view) => [
    { kind, name: `bread_${view}`, first: "Bread", second: view },
    { kind, name: `${view}_bread`, first: view, second: "Bread" },
  ]),
  { kind, name: "Cheap_Part", first: "Cheap", second: "Part" },
  { kind, name: "LaterPart_Loud", first: "LaterPart", second: "Loud" },
]);

const APP = `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import format
from appdb.serving import Router

Base = db.model_base()

class Letter(TypedDict):
    letter: str

@db.iterator
def letters(text: str) -> Iterator[Letter]:
    for one in text:
        yield {"letter": one}

@db.udf
def is_loud(text: str) -> bool:
    return text.isupper()

class Bread(Base, name="bread"):
    id = db.Column(type=db.Int, primary_key=True)
    other: db.Int
    text: db.String

class Cheap(Base, name="cheap", base=Bread.where(Bread.other < 3)):
    label = format("c{0}", Bread.text)

class Loud(Base, name="loud", base=Bread.where(is_loud(Bread.text))):
    label = format("l{0}", Bread.text)

class Part(Base, name="parts", base=Bread, iterator=letters(Bread.text)):
    label = format("p{0}", letter)

class LaterPart(Base, name="later_parts", base=Part.where(Part.pos > 0)):
    pass
${each.map(({ kind, name, first, second }) => queryOf(kind, name, first, second, `${first}.id == ${second}.other`)).join("")}
@db.query
def chain():
    return (Bread.join(Cheap, on=Bread.id == Cheap.other, how="left").join(Loud, on=Loud.id == Cheap.id, how="right")
        .select(a=Bread.id, b=Cheap.id, c=Loud.id))

api = Router(name="api")
api.add_insert_route(Bread, path="/add")
for one in (${each.map(({ kind, name }) => `${kind}_${name}`).join(", ")}, chain):
    api.add_query_route(path=f"/{one.__name__.lower()}", query=one)
`;

const BREAD = [
  { id: 1, other: 2, text: "ab" },
  { id: 2, other: 2, text: "CD" },
  { id: 3, other: 1, text: "e" },
  { id: 4, other: 9, text: "F" },
  { id: 5, other: 4, text: "" },
  { id: 9, other: 2, text: "GHI" },
];

interface Joined {
  readonly id: number;
  readonly other: number;
  readonly label: string;
}

const parts = BREAD.flatMap(({ id, other, text }) =>
  [...text].map((one, pos) => ({ id, other, pos, label: `p${one}` })),
);

const ROWS: Readonly<Record<string, readonly Joined[]>> = {
  Bread: BREAD.map(({ id, other, text }) => ({ id, other, label: text })),
  Cheap: BREAD.filter(({ other }) => other < 3).map(({ id, other, text }) => ({ id, other, label: `c${text}` })),
  Loud: BREAD.filter(({ text }) => /^[A-Z]+$/.test(text)).map(({ id, other, text }) => {
    return { id, other, label: `l${text}` };
  }),
  Part: parts,
  LaterPart: parts.filter(({ pos }) => pos > 0),
};

function joined(kind: (typeof KINDS)[number], first: readonly Joined[], second: readonly Joined[]): unknown[] {
  const pairs = first.flatMap((a): (readonly [Joined | null, Joined | null])[] => {
    const found = second.filter(({ other }) => other === a.id);
    if (found.length > 0) return found.map((b) => [a, b] as const);
    return kind === "left" || kind === "full" ? [[a, null]] : [];
  });
  if (kind === "right" || kind === "full") {
    for (const b of second) if (!first.some(({ id }) => id === b.other)) pairs.push([null, b]);
  }
  return pairs.map(([a, b]) => ({
    a: a?.id ?? null,
    b: b?.id ?? null,
    x: a?.label ?? null,
    y: b?.label ?? null,
  }));
}

const sorted = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

let tested: TestApplication;

beforeAll(async () => {
  tested = await openTestApplication(APP);
  for (const row of BREAD) {
    const { status, text } = await tested.post("/add", row);
    expect(status, text).toBe(200);
  }
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
});

test.each(each)("$name of the views has the rows of a $kind join", async ({ kind, name, first, second }) => {
  const { status, json, text } = await tested.post(`/${kind}_${name}`.toLowerCase(), {});
  expect(status, text).toBe(200);
  expect(sorted(json.rows)).toEqual(sorted(joined(kind, ROWS[first] ?? [], ROWS[second] ?? [])));
});

test("a right join after a left join keeps the rows of its view only", async () => {
  const { json, text } = await tested.post("/chain", {});
  expect(sorted(json.rows ?? text)).toEqual(
    sorted([
      { a: 2, b: 2, c: 2 },
      { a: null, b: null, c: 4 },
      { a: 2, b: 9, c: 9 },
    ]),
  );
});
