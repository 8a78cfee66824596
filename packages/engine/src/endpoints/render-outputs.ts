import type { TypeKind } from "@appdb/contract/types";
import type { Row, RowLayout } from "../rows/row-layout.ts";
import { valueToJson } from "../rows/value-json.ts";

interface Output {
  /** `{"id":` or `,"title":`, made once. */
  readonly lead: string;
  readonly kind: TypeKind;
  readonly at: number;
}

/** Compiles the writer of a route's answer: an object of exactly `outputs`, in their order. */
export function compileOutputs(layout: RowLayout, outputs: readonly string[]): (row: Row) => string {
  if (outputs.length === 0) return () => "{}";
  const compiled = outputs.map((name, index): Output => {
    const at = layout.index.get(name) ?? -1;
    const slot = layout.slots[at];
    if (slot === undefined) throw new TypeError(`${layout.table.name} has no column ${name}`);
    return { lead: `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`, kind: slot.type.kind, at };
  });
  return (row) => {
    let text = "";
    for (const output of compiled) text += output.lead + valueToJson(output.kind, row[output.at] ?? null);
    return `${text}}`;
  };
}
