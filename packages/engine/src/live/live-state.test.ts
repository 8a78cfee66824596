import { LiveClient } from "@appdb/testkit/live-client";
import { expect, test } from "vitest";
import { changeEvent, event, stateOf } from "./live-state.ts";

/** A deterministic random number generator. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

const answer = (rows: readonly { id: string; n: number }[]) => ({
  count: rows.length,
  text: rows.map(({ n }) => `{"n":${n}}`).join(","),
  rows: rows.map(({ id, n }) => ({ id, text: `{"n":${n}}` })),
});
const parse = (text: string) => ({
  event: /^event: (.*)$/m.exec(text)?.[1] ?? "",
  data: JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? ""),
});

test("a client that applies all events has the current list", () => {
  const next = numbers(7);
  const client = new LiveClient({ next: async () => undefined });
  const names: Record<string, number> = {};
  let rows: { id: string; n: number }[] = [];
  let state = stateOf(answer(rows));
  client.apply({ event: "result", data: { rows: [], ids: [] } });
  for (let step = 0; step < 1_000; step++) {
    const size = rows.length;
    for (let time = next(4); time >= 0; time--) {
      const at = next(rows.length + 1);
      const what = next(size > 30 ? 6 : 4);
      const row = rows[at];
      if (what <= 1) rows = rows.toSpliced(at, 0, { id: `i${step}.${time}`, n: next(100) });
      else if (what === 2 && row !== undefined) rows = rows.with(at, { ...row, n: next(100) });
      else if (what === 3 && row !== undefined) rows = [...rows.toSpliced(at, 1), { ...row, n: next(100) }];
      else if (what >= 4) rows = rows.toSpliced(at, 1);
      if (next(40) === 0) rows = rows.toReversed();
    }
    const after = stateOf(answer(rows));
    if (after.id === state.id) continue;
    const told = parse(changeEvent(state, after));
    names[told.event] = (names[told.event] ?? 0) + 1;
    client.apply(told);
    expect(client.rows).toEqual(rows.map(({ n }) => ({ n })));
    expect(client.ids).toEqual(rows.map(({ id }) => id));
    state = after;
  }
  expect(names.change).toBeGreaterThan(200);
  expect(names.result).toBeGreaterThan(50);
});

test("the id of a result changes with a row, its identity or the order", () => {
  const one = { id: "a", n: 1 };
  const two = { id: "b", n: 1 };
  const ids = [[], [one], [two], [one, two], [two, one], [{ ...one, n: 2 }]].map((rows) => stateOf(answer(rows)).id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(stateOf(answer([one])).id).toBe(stateOf(answer([{ ...one }])).id);
});

test("data of several lines becomes several lines of one event", () => {
  expect(event("result", "x", "1\r\n2\r3\n4")).toBe("event: result\nid: x\ndata: 1\ndata: 2\ndata: 3\ndata: 4\n\n");
});
