import type { PlanOp } from "@appdb/contract/plan";
import { count } from "./count.ts";

/** `details.recompute` of an operation (contract/plan.ts). */
interface Recompute {
  readonly rows: number;
  readonly columns: readonly string[];
  readonly estimate_s: number | null;
  readonly samples: readonly Sample[];
  readonly note: string | null;
}

interface Sample {
  readonly key: Readonly<Record<string, unknown>>;
  readonly old: unknown;
  readonly new: unknown;
  readonly error: string | null;
}

/** Describes a recompute of a column: rows, duration, and previous and new values of a few rows. */
export function recomputeLines(op: PlanOp): readonly string[] {
  const recompute = op.details.recompute as Recompute | undefined;
  if (recompute === undefined) return [];
  const { rows, columns, estimate_s: estimateS, samples, note } = recompute;
  // A column of a view has the name of its view before its own.
  const others = columns.filter((column) => column !== op.name && !column.endsWith(`.${op.name}`));
  const counted = `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
  const also = others.length === 0 ? "" : `, together with ${others.join(", ")}`;
  const time = estimateS === null ? "" : `, about ${duration(estimateS)}`;
  return [`${counted}${time}${also}`, ...(note === null ? [] : [`no sample: ${note}`]), ...sampleLines(samples, op)];
}

/** A line for each different change of a value; equal ones are counted. */
function sampleLines(samples: readonly Sample[], op: PlanOp): readonly string[] {
  const groups = new Map<string, { readonly line: string; number: number }>();
  for (const sample of samples) {
    const change = JSON.stringify([sample.old, sample.new, sample.error]);
    const group = groups.get(change);
    if (group === undefined) groups.set(change, { line: sampleLine(sample, op), number: 1 });
    else group.number += 1;
  }
  return [...groups.values()].map(({ line, number }) =>
    number === 1 ? line : `${line} (the same for ${number} samples)`,
  );
}

/** The samples of a view itself are the numbers of its rows. */
function sampleLine({ key, old, new: now, error }: Sample, { op, target }: PlanOp): string {
  const shown = (value: unknown): string =>
    target === "table" && typeof value === "number" ? count(value, "row") : JSON.stringify(value);
  const where = Object.entries(key).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const value = error === null ? shown(now) : `fails with ${error}`;
  return `${where.join(", ")}: ${op === "add" ? "" : `${shown(old)} -> `}${value}`;
}

/** `0.4 s`, `12 s`, `3 min`, `2.5 h`. */
export function duration(seconds: number): string {
  if (seconds < 0.1) return "0.1 s";
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min`;
  return `${Number((seconds / 3600).toFixed(1))} h`;
}
