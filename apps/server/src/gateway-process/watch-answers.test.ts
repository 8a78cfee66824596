import { expect, test } from "vitest";
import { ANSWER_MS, watchAnswers } from "./watch-answers.ts";

function asking(answers: string) {
  let asked = 0;
  const ended = new AbortController();
  const ask = async () => {
    const answer = answers[asked];
    asked += 1;
    if (answer === undefined) ended.abort();
    return answer === "+";
  };
  return { asked: () => asked, hangs: watchAnswers({ ask, signal: ended.signal, pause_ms: 0, silent_ms: 0 }) };
}

test("two unanswered questions mean that it hangs", async () => {
  const watch = asking("++--+");
  expect(await watch.hangs).toBe(true);
  expect(watch.asked()).toBe(4);
});

test("an answer restarts the count", async () => {
  expect(await asking("-+-+-").hangs).toBe(false);
});

test("many immediate refusals mean nothing before the silent time", async () => {
  const began = performance.now();
  const { signal } = new AbortController();
  expect(await watchAnswers({ ask: async () => false, signal, pause_ms: 1, silent_ms: 300 })).toBe(true);
  expect(performance.now() - began).toBeGreaterThanOrEqual(300);
});

/** A time that passes only while something waits. */
function fakeTime() {
  let ms = 0;
  return {
    now: () => ms,
    wait: async (forMs: number) => {
      ms += forMs;
    },
  };
}

test("a hang is detected within 8 s", async () => {
  const time = fakeTime();
  const ask = async () => {
    await time.wait(ANSWER_MS);
    return false;
  };
  expect(await watchAnswers({ ask, signal: new AbortController().signal, time })).toBe(true);
  expect(time.now()).toBeGreaterThan(6_000);
  expect(time.now()).toBeLessThan(8_000);
});

test("a question that was itself delayed means nothing", async () => {
  const time = fakeTime();
  const ended = new AbortController();
  let asked = 0;
  const ask = async () => {
    asked += 1;
    if (asked === 5) ended.abort();
    await time.wait(2 * ANSWER_MS);
    return false;
  };
  expect(await watchAnswers({ ask, signal: ended.signal, time })).toBe(false);
  expect(asked).toBe(5);
});
