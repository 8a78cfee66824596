import type { ColumnType } from "@appdb/contract/types";
import { fromTransport, transportType } from "../kinds/storage-type.ts";
import { quoteIdent } from "../sql/quote.ts";
import type { SqlStep } from "./plan-compute.ts";

interface NamedColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/**
 * A FROM list over rows given as arrays (parameters $1 and up, in the order of `inputs`), followed by the computed
 * columns. Each step sees the given columns and earlier steps under their own names, as stored.
 */
export function unnestRows(inputs: readonly NamedColumn[], steps: readonly SqlStep[], ordinality?: string): string {
  const arrays = inputs.map((column, at) => `$${at + 1}::${transportType(column.type)}[]`);
  const names = inputs.map((column) => quoteIdent(column.name));
  const values = inputs.map((column, at) => {
    const name = names[at] ?? "";
    const value = fromTransport(name, column.type);
    return value === name ? name : `${value} as ${name}`;
  });
  if (ordinality !== undefined) values.push(ordinality);
  const unnest = `unnest(${arrays.join(", ")})${ordinality === undefined ? "" : " with ordinality"}`;
  const aliases = ordinality === undefined ? names : [...names, ordinality];
  const source = `(select ${values.join(", ")} from ${unnest} as u(${aliases.join(", ")})) as given`;
  const laterals = steps.map(
    (step, at) => `lateral (select ${step.expression} as ${quoteIdent(step.column)}) as step${at + 1}`,
  );
  return [source, ...laterals].join(", ");
}
