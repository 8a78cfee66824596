import type { ArrayDtype, EngineValue } from "@appdb/contract/types";
import type { Bytes, Validity } from "./arrow-vectors.ts";
import type { FlatBuffer, FlatMember } from "./flat-buffer.ts";

/** A field of Arrow's schema. */
export interface ArrowField {
  readonly name: string;
  readonly nullable: boolean;
  readonly type: ArrowType;
}

/** A type of Arrow (format/Schema.fbs): its number in the union, its members, the fields in it. */
export interface ArrowType {
  readonly id: number;
  members(flat: FlatBuffer): readonly FlatMember[];
  readonly children: readonly ArrowField[];
}

/** The content of a record batch: for each field, depth first, its lengths, then its buffers. */
export interface BatchParts {
  readonly nodes: [length: number, nulls: number][];
  readonly buffers: Uint8Array[];
}

/** A column of a record batch under construction. */
export interface ArrowColumn {
  readonly type: ArrowType;
  /** Bytes of its values so far, about. */
  readonly bytes: number;
  addNull(): void;
  /** Adds a value from PostgreSQL's binary format. */
  addField(row: Buffer, start: number, end: number): void;
  /** Adds a value of the engine. */
  addValue(value: Exclude<EngineValue, null>): void;
  /** Adds its lengths and buffers to a batch. It is empty afterwards. */
  take(parts: BatchParts): void;
}

const none = () => [];
export const UTF8: ArrowType = { id: 5, members: none, children: [] };
export const BINARY: ArrowType = { id: 4, members: none, children: [] };
export const BOOL: ArrowType = { id: 6, members: none, children: [] };
export const INT64 = intType(64, true);
export const FLOAT64 = floatType(2);
/** Days, and microseconds in UTC. */
export const DATE32: ArrowType = { id: 8, members: () => [{ bytes: 2, value: 0 }], children: [] };
export const TIMESTAMP: ArrowType = {
  id: 10,
  members: (flat) => [{ bytes: 2, value: 2 }, { place: flat.text("UTC") }],
  children: [],
};

/** An integer type. */
function intType(bits: number, isSigned: boolean): ArrowType {
  const members = () => [{ bytes: 4, value: bits } as const, { bytes: 1, value: isSigned ? 1 : 0 } as const];
  return { id: 2, members, children: [] };
}

/** A floating-point type: 1 for single, 2 for double precision. */
function floatType(precision: number): ArrowType {
  return { id: 3, members: () => [{ bytes: 2, value: precision }], children: [] };
}

/** Adds a column's lengths and its validity bits, which are left out without nulls. */
export function takeValidity(valid: Validity, { buffers, nodes }: BatchParts): void {
  nodes.push([valid.length, valid.nulls]);
  buffers.push(valid.take());
}

/** Appends one element of an array, from PostgreSQL's binary format and from JSON. */
export interface ElementForm {
  readonly type: ArrowType;
  readonly width: number;
  copy(to: Bytes, row: Buffer, start: number): void;
  write(to: Bytes, value: unknown): void;
}

/** The elements of arrays other than bool and string. PostgreSQL stores the short integers in two bytes. */
export const ELEMENTS: Readonly<Record<Exclude<ArrayDtype, "bool" | "string">, ElementForm>> = {
  uint8: shortElement(intType(8, false)),
  int8: shortElement(intType(8, true)),
  int16: element(intType(16, true), 2, (to, value) => to.int16(Number(value))),
  int32: element(intType(32, true), 4, (to, value) => to.int32(Number(value))),
  int64: element(INT64, 8, (to, value) => to.bigint(BigInt(value as string))),
  float32: element(floatType(1), 4, (to, value) => to.float(Number(value))),
  float64: element(FLOAT64, 8, (to, value) => to.double(Number(value))),
};

function element(type: ArrowType, width: number, write: ElementForm["write"]): ElementForm {
  return { type, width, write, copy: (to, row, start) => to.reverse(row, start, width) };
}

function shortElement(type: ArrowType): ElementForm {
  const copy: ElementForm["copy"] = (to, row, start) => to.byte(row[start + 1] as number);
  return { type, width: 1, copy, write: (to, value) => to.byte(Number(value)) };
}
