import { expect, test } from "vitest";
import { type Backend, LostBackends } from "./lost-backends.ts";

function lostOf(running: () => readonly Backend[]) {
  const killed: number[] = [];
  const lost = new LostBackends(undefined, (pid) => void killed.push(pid));
  const ask = async (_text: string, [pids]: readonly unknown[]) =>
    running().filter(({ pid }) => (pids as readonly string[]).includes(pid));
  return { killed, add: (pid: string) => lost.add(pid, ask) };
}

test("two statements that ignore their end are left alone, and a third has all killed", async () => {
  const running: Backend[] = [];
  const { add, killed } = lostOf(() => running);
  for (const pid of ["11", "12", "13"]) {
    expect(killed).toEqual([]);
    running.push({ pid, started_at: `start of ${pid}` });
    await add(pid);
  }
  expect(killed).toEqual([11, 12, 13]);
});

test("a process that has ended meanwhile does not count, even if its number is used again", async () => {
  let running: Backend[] = [{ pid: "11", started_at: "1" }];
  const { add, killed } = lostOf(() => running);
  await add("11");
  running = [
    { pid: "11", started_at: "2" },
    { pid: "12", started_at: "3" },
  ];
  await add("12");
  running = [...running, { pid: "13", started_at: "4" }];
  await add("13");
  expect(killed).toEqual([]);
});
