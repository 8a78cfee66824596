import { makesFile } from "@appdb/contract/file-functions";
import { MEDIA_KINDS } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { listFunctions } from "./lib/function-tables.ts";

const AGGREGATES = "aggregates";

test("calls of functions make the files that the library declares", () => {
  const wrong = listFunctions()
    .filter(({ namespace }) => namespace !== AGGREGATES)
    .flatMap(({ id, type }) => MEDIA_KINDS.filter((kind) => makesFile(id, kind) !== (type === kind)).map(() => id));
  expect(wrong, "List it in packages/contract/src/file-functions.ts").toEqual([]);
});
