import { expect, test } from "vitest";
import { watchAnswers } from "./watch-answers.ts";

function asking(answers: string) {
  let asked = 0;
  const ended = new AbortController();
  const ask = async () => {
    const answer = answers[asked];
    asked += 1;
    if (answer === undefined) ended.abort();
    return answer === "+";
  };
  return { asked: () => asked, hangs: watchAnswers({ ask, signal: ended.signal, pause_ms: 0 }) };
}

test("four questions without an answer say that it hangs", async () => {
  const watch = asking("++----+");
  expect(await watch.hangs).toBe(true);
  expect(watch.asked()).toBe(6);
});

test("an answer in between starts the count again", async () => {
  expect(await asking("---+---+---+").hangs).toBe(false);
});
