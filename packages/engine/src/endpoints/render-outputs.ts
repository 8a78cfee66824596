import type { ManifestAnswerer } from "@appdb/contract/manifest";
import type { TypeKind } from "@appdb/contract/types";
import { answerSlot } from "../compute/answer-graph.ts";
import type { Row, RowLayout } from "../rows/row-layout.ts";
import { valueToJson } from "../rows/value-json.ts";

interface Output {
  /** `{"id":` or `,"title":`, made once. */
  readonly lead: string;
  readonly kind: TypeKind;
  readonly at: number;
}

/** Compiles the writer of a route's answer: what its function made of the row, or the row's outputs. */
export function compileAnswer(
  layout: RowLayout,
  route: { readonly outputs: readonly string[]; readonly handler: ManifestAnswerer | null },
): (row: Row) => string {
  if (route.handler === null) return compileOutputs(layout, route.outputs);
  const at = answerSlot(layout);
  return (row) => String(row[at] ?? null);
}

/** Compiles the writer of an object of exactly `outputs`, in their order. */
function compileOutputs(layout: RowLayout, outputs: readonly string[]): (row: Row) => string {
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
