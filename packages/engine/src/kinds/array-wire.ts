import type { ArrayDtype, ColumnType, EngineValue } from "@appdb/contract/types";
import type { WireArray, WireValue } from "@appdb/contract/worker-protocol";
import { float32Text, floatText } from "../values/float-text.ts";
import { DTYPES, dtypeOf } from "./dtypes.ts";

/** Dtypes whose elements are sent as bytes. */
type NumberDtype = Exclude<ArrayDtype, "string">;
const NUMBER = /-?\d[\d.eE+-]*/g;

/** An array in the worker protocol: its shape and elements. A null stays null. */
export function arrayToWire(value: EngineValue, type: ColumnType): WireValue {
  if (typeof value !== "string") return value;
  const dtype = dtypeOf(type);
  const nested: unknown = JSON.parse(value);
  const shape: number[] = [];
  for (let level = nested; Array.isArray(level); level = level[0]) shape.push(level.length);
  const flat = (nested as unknown[]).flat(shape.length - 1);
  if (dtype === "string") return [shape, flat as string[]];
  // Digits beyond 2^53 only exist in the text.
  const elements = dtype === "int64" ? (value.match(NUMBER) ?? []) : flat;
  return [shape, packElements(dtype, elements)];
}

/** Converts a worker's array to the engine's form. @throws Error when it is not an array of the type */
export function arrayFromWire(value: WireValue, type: ColumnType): EngineValue {
  if (!Array.isArray(value)) return value as EngineValue;
  const [shape, elements] = value as WireArray;
  return printNested(shape, elementTexts(dtypeOf(type), elements));
}

function packElements(dtype: NumberDtype, elements: readonly unknown[]): Buffer {
  const width = DTYPES[dtype].width;
  const bytes = Buffer.allocUnsafe(elements.length * width);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < elements.length; at++) {
    const offset = at * width;
    if (dtype === "int64") view.setBigInt64(offset, BigInt(elements[at] as string), true);
    else if (dtype === "float64") view.setFloat64(offset, elements[at] as number, true);
    else if (dtype === "float32") view.setFloat32(offset, elements[at] as number, true);
    else if (dtype === "int32") view.setInt32(offset, elements[at] as number, true);
    else if (dtype === "int16") view.setInt16(offset, elements[at] as number, true);
    else view.setUint8(offset, Number(elements[at]) & 255);
  }
  return bytes;
}

function elementTexts(dtype: ArrayDtype, elements: Uint8Array | string[]): string[] {
  if (Array.isArray(elements)) return elements.map((text) => JSON.stringify(text));
  if (dtype === "string") throw new Error("an array of text arrived as bytes");
  const view = new DataView(elements.buffer, elements.byteOffset, elements.length);
  const width = DTYPES[dtype].width;
  if (elements.length % width !== 0) throw new Error(`an array of ${dtype} arrived with an incomplete element`);
  return Array.from({ length: elements.length / width }, (_, at) => elementText(dtype, view, at * width));
}

function elementText(dtype: NumberDtype, view: DataView, offset: number): string {
  switch (dtype) {
    case "bool":
      return view.getUint8(offset) === 0 ? "false" : "true";
    case "uint8":
      return String(view.getUint8(offset));
    case "int8":
      return String(view.getInt8(offset));
    case "int16":
      return String(view.getInt16(offset, true));
    case "int32":
      return String(view.getInt32(offset, true));
    case "int64":
      return String(view.getBigInt64(offset, true));
    case "float32":
      return float32Text(view.getFloat32(offset, true));
    case "float64":
      return floatText(view.getFloat64(offset, true));
  }
}

/** Nests elements in C order into lists, innermost lengths first. */
function printNested(shape: readonly number[], texts: readonly string[]): string {
  let parts = texts;
  for (let level = shape.length - 1; level > 0; level--) {
    const length = shape[level] ?? 1;
    const lists: string[] = [];
    for (let at = 0; at < parts.length; at += length) lists.push(`[${parts.slice(at, at + length).join(",")}]`);
    parts = lists;
  }
  return `[${parts.join(",")}]`;
}
