import type { ArrowField, BatchParts } from "../kinds/results/arrow-types.ts";
import { FlatBuffer } from "../kinds/results/flat-buffer.ts";

const VERSION_5 = 4;
const SCHEMA = 1;
const RECORD_BATCH = 3;
const ALIGNED = 8;
const HEAD_BYTES = 8;

/** The end of an IPC stream. */
export const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/** The pieces of the IPC message with the schema of a stream. */
export function schemaMessage(fields: readonly ArrowField[]): readonly Uint8Array[] {
  const flat = new FlatBuffer();
  const vector = flat.objects(fields.map((field) => writeField(flat, field)));
  const schema = flat.table([{ bytes: 2, value: 0 }, { place: vector }]);
  return encapsulate(flat, SCHEMA, schema, []);
}

/** The same with rows. */
export function batchMessage(rows: number, { buffers, nodes }: BatchParts): readonly Uint8Array[] {
  const flat = new FlatBuffer();
  let offset = 0;
  const places = buffers.map((buffer): [number, number] => {
    const place: [number, number] = [offset, buffer.length];
    offset += padded(buffer.length);
    return place;
  });
  const buffersPlace = flat.pairs(places);
  const nodesPlace = flat.pairs(nodes);
  const batch = flat.table([{ bytes: 8, value: rows }, { place: nodesPlace }, { place: buffersPlace }]);
  return encapsulate(flat, RECORD_BATCH, batch, buffers);
}

function writeField(flat: FlatBuffer, { name, nullable, type }: ArrowField): number {
  const children = flat.objects(type.children.map((child) => writeField(flat, child)));
  const place = flat.table(type.members(flat));
  const text = flat.text(name);
  return flat.table([
    { place: text },
    { bytes: 1, value: nullable ? 1 : 0 },
    { bytes: 1, value: type.id },
    { place },
    undefined,
    { place: children },
  ]);
}

function encapsulate(flat: FlatBuffer, kind: number, header: number, buffers: readonly Uint8Array[]): Uint8Array[] {
  const bodyBytes = buffers.reduce((sum, buffer) => sum + padded(buffer.length), 0);
  const message = flat.table([
    { bytes: 2, value: VERSION_5 },
    { bytes: 1, value: kind },
    { place: header },
    { bytes: 8, value: bodyBytes },
  ]);
  const metadata = flat.finish(message);
  const metadataBytes = padded(metadata.length);
  const head = Buffer.alloc(HEAD_BYTES + metadataBytes);
  head.writeUInt32LE(0xffffffff, 0);
  head.writeUInt32LE(metadataBytes, 4);
  head.set(metadata, HEAD_BYTES);
  const padding = Buffer.alloc(ALIGNED);
  return [head, ...buffers.flatMap((one) => [one, padding.subarray(0, padded(one.length) - one.length)])];
}

function padded(bytes: number): number {
  return Math.ceil(bytes / ALIGNED) * ALIGNED;
}
