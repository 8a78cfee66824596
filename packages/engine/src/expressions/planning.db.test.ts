import type { Expr } from "@appdb/contract/expressions";
import { TYPE_KINDS, type TypeKind } from "@appdb/contract/types";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterAll, beforeAll, expect, test } from "vitest";
import { storageCollation, storageType } from "../kinds/storage-type.ts";
import type { SqlPool } from "../ports.ts";
import { compileSql, ROW_COLUMNS } from "./compile-sql.ts";
import { FORMS } from "./forms.ts";
import { literal } from "./testing/random-arguments.ts";
import { sampleType } from "./testing/sample-values.ts";

/** Constants, of the kinds that a file can contain, for which every function gives a value. */
const CONSTANTS: Partial<Record<TypeKind, string | number | boolean>> = {
  string: "1",
  int: "2",
  float: 1.5,
  bool: true,
  timestamp: "2024-02-29T12:00:00Z",
  date: "2024-02-29",
  uuid: "01890a5d-ac96-774b-bcce-b302099a8057",
};
let database: TestDatabase;
let pool: SqlPool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPgPool({ dsn: database.dsn, max: 1, application_name: "planning" });
  const columns = TYPE_KINDS.map((kind) => {
    const type = sampleType(kind);
    return `"${kind}" ${storageType(type)}${storageCollation(type)}`;
  });
  await pool.query({ text: `create table sample (${columns.join(", ")})` });
});

afterAll(async () => {
  await pool?.[Symbol.asyncDispose]();
  await database?.drop();
});

// A form that raises during planning would send every row to Python: the values would be right, but the form useless.
test("a column next to constants is planned without error in any position", async () => {
  let planned = 0;
  for (const [fn, byKinds] of Object.entries(FORMS)) {
    for (const kinds of Object.keys(byKinds).filter((key) => key !== "*" && key !== "" && fn !== "op.cast")) {
      const args = kinds.split(",") as TypeKind[];
      for (const place of args.keys()) {
        const sql = compileSql(callWith(fn, args, place), ROW_COLUMNS);
        if (sql === undefined) continue;
        planned++;
        const failed = await pool.query({ text: `explain select ${sql} from sample` }).then(
          () => undefined,
          (error: Error) => `${fn}(${kinds}), column ${place}: ${error.message}`,
        );
        expect(failed).toBe(undefined);
      }
    }
  }
  expect(planned).toBeGreaterThan(100);
});

function callWith(fn: string, kinds: readonly TypeKind[], place: number): Expr {
  const args = kinds.map((kind, i): Expr => {
    const value = CONSTANTS[kind];
    if (i !== place && value !== undefined) return literal(kind, value);
    return { node: "column", name: kind, type: { kind } as Expr["type"], nullable: true };
  });
  return { node: "call", fn, args, kwargs: {}, type: { kind: kindOf(fn, kinds) } as Expr["type"], nullable: true };
}

/** The kind of the result only matters to forms of operators over numbers. */
function kindOf(fn: string, kinds: readonly TypeKind[]): TypeKind {
  if (fn === "op.truediv" || kinds.includes("float")) return "float";
  return kinds[0] ?? "int";
}
