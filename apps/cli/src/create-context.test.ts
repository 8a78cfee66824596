import { expect, test } from "vitest";
import { createPrompt } from "./create-context.ts";
import { createOutput } from "./output/output.ts";

const silent = { write: () => undefined };

test("a question after Ctrl-C is cancelled without being shown", async () => {
  const prompt = createPrompt(createOutput(silent, silent, true), AbortSignal.abort());
  for (const asked of [prompt.confirm("Do it?"), prompt.text("Its name?"), prompt.secret("Value?")]) {
    await expect(asked).rejects.toMatchObject({ code: "interrupted" });
  }
});
