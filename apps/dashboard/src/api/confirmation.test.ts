import { expect, test } from "vitest";
import { createConfirmation } from "./confirmation.ts";

test("concurrent actions share one question", async () => {
  const confirmation = createConfirmation();
  const answers = [confirmation.ask(), confirmation.ask()];
  expect(confirmation.isOpen()).toBe(true);
  confirmation.answer(true);
  expect(await Promise.all(answers)).toEqual([true, true]);
  expect(confirmation.isOpen()).toBe(false);
});

test("a closed question is asked again", async () => {
  const confirmation = createConfirmation();
  const first = confirmation.ask();
  confirmation.answer(false);
  expect(await first).toBe(false);
  const second = confirmation.ask();
  confirmation.answer(true);
  expect(await second).toBe(true);
});
