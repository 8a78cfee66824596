import { expect, test } from "vitest";
import { RowsInFlight } from "./query-limits.ts";

const LIMITS = {
  statement_timeout_ms: 1,
  result_rows: 1,
  result_bytes: 1,
  rows_in_flight: 10,
  live_queries: 1,
  live_bytes: 1,
};

test("queries share a row limit; an error names the limit and its use", () => {
  const room = new RowsInFlight(LIMITS);
  room.take("first", 7, 7);
  expect(() => room.take("second", 4, 4)).toThrow(
    expect.objectContaining({
      code: "overloaded",
      message: expect.stringMatching(/hold 7 rows .* limit is 10/),
      hint: expect.stringContaining("SERVICE_ROWS_IN_FLIGHT"),
      meta: { limit: "rows_in_flight", value: 10 },
    }),
  );
  room.take("second", 3, 3);
  room.give(7);
  room.take("second", 7, 10);
});

test("a query above the limit is refused even when no others run", () => {
  expect(() => new RowsInFlight(LIMITS).take("all", 11, 11)).toThrow(
    expect.objectContaining({ code: "result_too_large", meta: expect.objectContaining({ value: 10 }) }),
  );
});
