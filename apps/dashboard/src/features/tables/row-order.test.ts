import { expect, test } from "vitest";
import { isSortable, nextOrder, orderOf } from "./row-order.ts";

test("a header sorts ascending, then descending, then the newest rows come first", () => {
  expect(nextOrder("a", undefined)).toBe("a:asc");
  expect(nextOrder("a", "a:asc")).toBe("a:desc");
  expect(nextOrder("a", "a:desc")).toBeUndefined();
  expect(nextOrder("a", "b:desc")).toBe("a:asc");
  expect([orderOf("a", "a:desc"), orderOf("b", "a:desc")]).toEqual(["descending", undefined]);
});

test("columns of JSON, arrays and files do not sort", () => {
  const column = { name: "a", is_key: false, is_computed: false, value: null, comment: null };
  const types = ["Int | None", "String", "Timestamp", "Json", "Array[Float, (3,)]", "Image"];
  expect(types.map((type) => isSortable({ ...column, type }))).toEqual([true, true, true, false, false, false]);
});
