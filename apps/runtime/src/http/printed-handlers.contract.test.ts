import { expect, test } from "vitest";
import { serveHandlers } from "../testing/handler-service.ts";
import { readPrintedExamples, runPrinted } from "../testing/printed-examples.ts";

test("the examples of docs/handlers.md work", async () => {
  const { app, examples } = readPrintedExamples("handlers.md");
  expect(examples).toHaveLength(4);
  await using service = await serveHandlers(app);
  for (const example of examples) {
    expect(await runPrinted(example, new URL(service.url).port)).toMatch(example.printed);
  }
});
