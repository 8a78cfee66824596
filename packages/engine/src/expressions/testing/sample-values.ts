import type { ColumnType, EngineValue, TypeKind } from "@appdb/contract/types";
import { KINDS } from "../../kinds/kinds.ts";
import type { Random } from "./random.ts";

/** The type of a kind in random trees. */
export function sampleType(kind: TypeKind): ColumnType {
  return KINDS[kind].samples.type;
}

/** A value of a kind; `codePoint` returns characters that both sides support. */
export function sampleValue(kind: TypeKind, random: Random, codePoint: (random: Random) => number): EngineValue {
  const { values, random: further } = KINDS[kind].samples;
  if (random.next() < 0.6 || further === null) return random.pick(values);
  return further(random, () => codePoint(random));
}
