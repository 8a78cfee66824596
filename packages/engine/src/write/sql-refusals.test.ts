import { appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import type { CatalogTable } from "../catalog/catalog.ts";
import { layOutRow } from "../compute/row-layout.ts";
import { SqlError } from "../ports.ts";
import { explainRefusal, isRowRefusal, uniqueViolation } from "./sql-refusals.ts";

const TABLE: CatalogTable = {
  id: 1,
  folder: "public",
  name: "seats",
  version: 1,
  model: "Seats",
  comment: null,
  custom_metadata: null,
  primary_key: ["hall", "row_no"],
  has_default_idxs: false,
  identity: "_row",
  has_rows: false,
  columns: (["hall", "row_no"] as const).map((name, at) => ({
    id: at,
    name,
    type: { kind: at === 0 ? "string" : "int" } as const,
    nullable: false,
    primary_key: true,
    computed: null,
    state: "ready" as const,
    comment: null,
    custom_metadata: null,
    stale: false,
  })),
  indexes: [],
};
const LIMITS = { statement_timeout_ms: 30_000 };
const layout = layOutRow(TABLE);
const refused = (sqlstate: string, column?: string) => new SqlError("inner words", { sqlstate, column });

test("a duplicate names the key's columns and values, long ones shortened", () => {
  const error = uniqueViolation(layout, ["x".repeat(500), 9007199254740993n, null]);
  expect(error.message).toMatch(/^seats already has a row with \(hall, row_no\) = \("x{90,}\.\.\., 9007199254740993\)/);
  expect(error.message).toContain("unique constraint");
});

test.each([
  ["53100", "disk_full"],
  ["57014", "query_timeout"],
  ["53300", "database_unavailable"],
  ["54000", "invalid_request"],
  ["23502", "invalid_request"],
  ["23505", "unique_violation"],
])("SQLSTATE %s becomes %s without PostgreSQL's own message", (sqlstate, code) => {
  const error = explainRefusal(layout, ["a", 1, null], refused(sqlstate, "hall"), LIMITS);
  expect(error).toMatchObject({ code });
  expect(String(error)).not.toContain("inner words");
});

test("a statement timeout names the limit and its setting", () => {
  const error = explainRefusal(layout, undefined, refused("57014"), { statement_timeout_ms: 250 });
  expect(error).toMatchObject({
    message: expect.stringContaining("250 ms"),
    hint: expect.stringContaining("SERVICE_STATEMENT_TIMEOUT_MS"),
    meta: { table: "seats", limit: "statement_timeout_ms", value: 250 },
  });
});

test("passes errors that no caller can fix unchanged", () => {
  const strange = refused("XX000");
  expect(explainRefusal(layout, undefined, strange, LIMITS)).toBe(strange);
  const ours = appError("commit_unknown", { detail: "?" });
  expect(explainRefusal(layout, undefined, ours, LIMITS)).toBe(ours);
});

test("only refusals caused by row content are bisected", () => {
  expect(["22003", "23505", "54000"].map((state) => isRowRefusal(refused(state)))).toEqual([true, true, true]);
  expect(["40P01", "53100", "42703", "57014"].some((state) => isRowRefusal(refused(state)))).toBe(false);
  expect(isRowRefusal(new Error("x"))).toBe(false);
});
