import type { ManifestTable } from "@appdb/contract/manifest";
import { aColumn, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { MAX_VIEW_COLUMNS, MAX_VIEW_DEPTH, orderViews, refuseManyColumns } from "./order-views.ts";

const columns = (count: number) => Array.from({ length: count }, (_none, at) => aColumn(`c${at}`, "string"));
const over = (base: string, name: string, own: ManifestTable["columns"] = []): ManifestTable =>
  aTable(name, own, { primary_key: [], view: { base, filter: null, columns: null } });
/** Views that are each over the one before. */
const chain = (length: number): readonly ManifestTable[] =>
  Array.from({ length }, (_none, at) => over(at === 0 ? "docs" : `v${at - 1}`, `v${at}`));
const DOCS = aTable("docs", columns(1));

test("a chain has a maximum length in any order of declaration", () => {
  const longest = chain(MAX_VIEW_DEPTH);
  const names = longest.map(({ name }) => name);
  const middle = [...longest.slice(16), ...longest.slice(0, 16)];
  for (const views of [longest, longest.toReversed(), middle]) {
    expect(orderViews([DOCS, ...views]).map(({ name }) => name)).toEqual(names);
  }
  const longer = chain(MAX_VIEW_DEPTH + 1);
  for (const views of [longer, longer.toReversed(), [...longer.slice(16), ...longer.slice(0, 16)]]) {
    expect(() => orderViews([DOCS, ...views])).toThrow(
      `The view 'v${MAX_VIEW_DEPTH}' is below more than ${MAX_VIEW_DEPTH} other views`,
    );
  }
});

test("views × columns have a maximum over all tables, which also counts the columns of views", () => {
  const wide = aTable("docs", columns(500));
  const many = Array.from({ length: MAX_VIEW_COLUMNS / 500 }, (_none, at) => over("docs", `v${at}`));
  refuseManyColumns([wide, ...many]);
  const refused = expect.objectContaining({
    code: "app_invalid",
    message: expect.stringContaining("1001 views are over 'docs'"),
    meta: { table: "docs", views: 1_001, columns: 500, value: 500_500, most: MAX_VIEW_COLUMNS },
  });
  expect(() => refuseManyColumns([wide, ...many, over("v3", "more")])).toThrow(refused);
  expect(() => orderViews([...many, over("v3", "more"), wide])).toThrow(refused);
  const other = [aTable("other", columns(1)), over("other", "w")];
  expect(() => refuseManyColumns([wide, ...many, ...other])).toThrow("1 views are over 'other'");
  expect(() => refuseManyColumns([wide, ...many.slice(1), over("v3", "more", columns(1))])).toThrow("501 columns");
});

test("views over themselves or over nothing have a maximum too", () => {
  const circle = Array.from({ length: 600 }, (_none, at) => over(`v${(at + 1) % 600}`, `v${at}`, columns(2)));
  expect(() => refuseManyColumns(circle)).toThrow("Views × columns");
  refuseManyColumns(circle.slice(0, 3));
  expect(() => orderViews(circle.slice(0, 3))).not.toThrow();
});
