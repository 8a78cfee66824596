import { aColumn, aComputed, aTable, call, col, lit } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { refuseFalseLiterals } from "./false-literals.ts";

const withDefault = (kind: "date" | "timestamp" | "string", value: string) =>
  aColumn("given", kind, { default: { text: value, expr: lit(value, kind) } });

test("values of their types are literals", () => {
  const later = aComputed("later", call("op.gt", "bool", col("given", "date"), lit("9999-12-31", "date")));
  refuseFalseLiterals([
    aTable("dates", [withDefault("date", "0001-01-01"), later]),
    aTable("times", [withDefault("timestamp", "9999-12-31T23:59:59.999999Z")]),
    aTable("texts", [withDefault("string", "infinity")]),
  ]);
});

test.each([
  ["date", "infinity"],
  ["date", "-infinity"],
  ["date", "today"],
  ["timestamp", "infinity"],
  ["timestamp", "12000-01-01T00:00:00Z"],
] as const)("the default of a %s is not %s, in a column and in an expression", (kind, value) => {
  const isLater = aComputed("later", call("op.gt", "bool", col("given", kind), lit(value, kind)));
  const refused = { code: "app_invalid", message: expect.stringContaining(`got "${value}"`) };
  const columns = [withDefault(kind, value), isLater];
  for (const column of columns) {
    expect(() => refuseFalseLiterals([aTable("docs", [column])])).toThrowError(expect.objectContaining(refused));
  }
});
