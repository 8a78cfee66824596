import { ExactNumber } from "@appdb/contract/clients/exact-json";
import { appError, toProblem } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { isNumeric, readMessages } from "./read-messages.ts";

const COLUMNS = `{"columns":[{"name":"id","type":{"kind":"int"},"nullable":false},{"name":"id","type":{"kind":"string"},"nullable":true}]}`;

test("a result has its columns, also of the same name, and rows with all digits", () => {
  const text = `${COLUMNS}\n{"rows":[[9007199254740993,"a"]]}\n{"rows":[[1,null]]}\n{"done":{"count":2,"has_more":true}}\n`;
  const result = readMessages(text);
  expect(result).toEqual({
    columns: [
      { name: "id", kind: "int" },
      { name: "id", kind: "string" },
    ],
    rows: [
      [new ExactNumber("9007199254740993"), "a"],
      [new ExactNumber("1"), null],
    ],
    has_more: true,
  });
  expect([isNumeric(result.rows, 0), isNumeric(result.rows, 1)]).toEqual([true, false]);
});

test("an error that ends a result is thrown, and so is a result without its end", () => {
  const problem = toProblem(appError("query_timeout", { detail: "It worked too long.", hint: "Read less." }), "r1");
  expect(() => readMessages(`${COLUMNS}\n${JSON.stringify({ error: problem })}\n`)).toThrow("It worked too long.");
  expect(() => readMessages(`${COLUMNS}\n{"rows":[]}\n`)).toThrow("ended before it was complete");
});
