import { createHash } from "node:crypto";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";
import { Random } from "../expressions/testing/random.ts";

const appWith = (fraction: number, seed: number) => `
from datetime import datetime, timezone
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Letter(TypedDict):
    letter: str

@db.iterator
def letters(text: str) -> Iterator[Letter]:
    for one in text:
        yield {"letter": one}

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    part = db.Column(type=db.String, primary_key=True)
    text: db.String

class Day(Base, name="days"):
    at = db.Column(type=db.Timestamp, primary_key=True)

class Some(Base, name="some", base=Doc.where(Doc.id >= 0).sample(fraction=${fraction}, seed=${seed})):
    loud = upper(Doc.text)

class Part(Base, name="parts", base=Doc.sample(fraction=${fraction}, seed=${seed}), iterator=letters(Doc.text)):
    pass

class SomeDays(Base, name="some_days", base=Day.sample(fraction=0.5)):
    pass

@db.query
def some():
    return Some.order_by(Some.id, Some.part).select(Some.id, Some.part, Some.loud)

@db.query
def parts():
    return Part.order_by(Part.id, Part.part, Part.pos).select(Part.id, Part.part, Part.letter)

@db.query
def days():
    return SomeDays.select(SomeDays.at)

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
api.add_insert_route(Day, path="/days/add")
api.add_update_route(Doc, path="/change")
api.add_delete_route(Doc, path="/drop")
api.add_compute_route(Some, path="/preview", outputs=[Some.loud])
api.add_compute_route(SomeDays, path="/days/preview")
for one in (some, parts, days):
    api.add_query_route(path=f"/{one.__name__}", query=one)
`;

function isDrawn(fraction: number, seed: number, ...key: readonly (string | number)[]): boolean {
  const digits = createHash("md5")
    .update([seed, ...key].join(","))
    .digest("hex")
    .slice(0, 13);
  return Number.parseInt(digits, 16) / 2 ** 52 < fraction;
}

let tested: TestApplication;
let other: ServedRoutes | undefined;

afterEach(async () => {
  await other?.[Symbol.asyncDispose]();
  other = undefined;
  await tested?.[Symbol.asyncDispose]();
});

async function rowsOf(path: string, served: ServedRoutes): Promise<Record<string, unknown>[]> {
  const { status, json, text } = await served.post(path, {});
  expect(status, text).toBe(200);
  return json.rows;
}

test.each([1, 2])("a sampled view has the same rows after any writes and updates (seed %i)", async (start) => {
  const random = new Random(start);
  let [fraction, seed] = [0.5, 1];
  tested = await openTestApplication(appWith(fraction, seed));
  let served: ServedRoutes = tested;
  const docs = new Map<string, { id: number; part: string; text: string }>();
  for (let step = 0; step < 30; step++) {
    const key = { id: random.int(-1, 9), part: random.pick(["a", "ü,", ""]) };
    const name = JSON.stringify(key);
    const text = random.pick(["x", "yz", ""]);
    if (step % 10 === 9) {
      [fraction, seed] = [random.pick([0, 0.2, 0.5, 1]), random.pick([-3, 1, 2])];
      await tested.finish(await tested.update(appWith(fraction, seed)));
      await other?.[Symbol.asyncDispose]();
      other = await tested.serve(appWith(fraction, seed));
      served = other;
    } else if (docs.has(name) && random.next() < 0.5) {
      await served.post("/drop", key);
      docs.delete(name);
    } else {
      const answer = await served.post(docs.has(name) ? "/change" : "/add", { ...key, text });
      expect(answer.status, answer.text).toBe(200);
      docs.set(name, { ...key, text });
    }
    const drawn = [...docs.values()]
      .filter(({ id, part }) => isDrawn(fraction, seed, id, part))
      .sort((a, b) => a.id - b.id || Buffer.compare(Buffer.from(a.part), Buffer.from(b.part)));
    const members = drawn.filter(({ id }) => id >= 0);
    expect(await rowsOf("/some", served)).toEqual(
      members.map(({ id, part, text: of }) => ({ id, part, loud: of.toUpperCase() })),
    );
    expect(await rowsOf("/parts", served)).toEqual(
      drawn.flatMap(({ id, part, text: of }) => [...of].map((letter) => ({ id, part, letter }))),
    );
    const preview = await served.post("/preview", { ...key, text });
    const isMember = key.id >= 0 && isDrawn(fraction, seed, key.id, key.part);
    expect(preview.json).toEqual(isMember ? { loud: text.toUpperCase() } : null);
  }
});

test("a sample by a key of times is equal in SQL and in Python", async () => {
  tested = await openTestApplication(appWith(0.5, 1));
  const times = Array.from({ length: 24 }, (_none, hour) => `2024-01-02T${String(hour).padStart(2, "0")}:00:00.5Z`);
  const computed: string[] = [];
  for (const at of times) {
    await tested.post("/days/add", { at });
    const { json } = await tested.post("/days/preview", { at });
    if (json !== null) computed.push(json.at);
  }
  expect((await rowsOf("/days", tested)).map(({ at }) => at)).toEqual(computed);
  expect(computed.length).toBeGreaterThan(3);
  expect(computed.length).toBeLessThan(21);
});
