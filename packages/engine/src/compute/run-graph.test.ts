import { expect, test } from "vitest";
import type { CatalogTable } from "../catalog/catalog.ts";
import type { UdfError } from "../ports.ts";
import { computeError } from "../query-plans/query-refusals.ts";
import { isOfApplication } from "./cell-errors.ts";
import { cellError, describeUdfError } from "./run-graph.ts";

function raised(fn: string): UdfError {
  return { kind: "raised", function: fn, type: "ZeroDivisionError", message: "division by zero", at: null };
}

test("names a raising operator by its column's expression, or by its sign", () => {
  expect(describeUdfError(raised("op.truediv"), "a / b")).toBe("a / b raised ZeroDivisionError: division by zero");
  expect(describeUdfError(raised("op.truediv"))).toBe("the operator / raised ZeroDivisionError: division by zero");
  const long = `n // m + ${"n + ".repeat(30)}1`;
  expect(describeUdfError(raised("op.floordiv"), long)).toBe(
    `// in ${long.slice(0, 77)}... raised ZeroDivisionError: division by zero`,
  );
});

test("names a raising function by its own name, wherever it is used", () => {
  expect(describeUdfError(raised("udfs:share"), "share(a) / b")).toMatch(/^udfs:share raised /);
  expect(describeUdfError(raised("string.index"), "title.index('x')")).toMatch(/^string\.index raised /);
});

test("a function that meets a full disk failed for lack of space, and its error is never kept in a cell", () => {
  const full: UdfError = { ...raised("udfs:card"), type: "disk_full", message: "the disk has no space left" };
  const table = { name: "photos", columns: [], indexes: [] } as unknown as CatalogTable;
  expect(cellError(table, { thumb: full })).toMatchObject({
    code: "disk_full",
    status: 507,
    message: "Column photos.thumb: the disk has no space left",
    hint: "Nothing was stored. Free space on the disk, and send the request again.",
  });
  expect(isOfApplication({ thumb: full })).toBe(true);
});

test("a function whose file has no room in the media store fails with its code and the setting to raise", () => {
  const full: UdfError = { ...raised("udfs:card"), type: "media_store_full", message: "media_gb is 1" };
  const table = { name: "photos", columns: [], indexes: [] } as unknown as CatalogTable;
  expect(cellError(table, { thumb: full })).toMatchObject({
    code: "media_store_full",
    status: 507,
    message: "Column photos.thumb: media_gb is 1",
    hint: expect.stringContaining("raise media_gb in the database's entry"),
  });
});

test("a function whose file cannot be stored, because the database is away, may be retried", () => {
  const away: UdfError = {
    ...raised("udfs:copy"),
    type: "database_unavailable",
    message: "PostgreSQL does not answer",
  };
  const table = { name: "photos", columns: [], indexes: [] } as unknown as CatalogTable;
  expect(cellError(table, { copy: away })).toMatchObject({
    code: "database_unavailable",
    status: 503,
    message: "Column photos.copy: PostgreSQL does not answer",
    hint: "Nothing was stored. Send the request again in a moment.",
  });
  expect(isOfApplication({ copy: away })).toBe(true);
  expect(computeError("all", { column: "copy", row: 3 }, away)).toMatchObject({
    code: "database_unavailable",
    hint: "Send the query again in a moment.",
  });
});

test("the error of what makes a view's rows names the view, for programs, too", () => {
  const table = { name: "docs", columns: [], indexes: [] } as unknown as CatalogTable;
  expect(cellError(table, { "lets.(rows)": raised("app:words") })).toMatchObject({
    message: expect.stringContaining("View lets: "),
    meta: { table: "docs", column: "lets" },
  });
});
