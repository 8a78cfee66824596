import type { FileMetaData } from "hyparquet";

/** Where pyarrow keeps the schema of a file, as a message of Arrow in base64. */
const KEY = "ARROW:schema";
/** The numbers of Arrow's format: of members of its tables, and of the type of durations. */
const MESSAGE_HEADER = 2;
const SCHEMA_FIELDS = 1;
const FIELD = { name: 0, typeNumber: 2, children: 5 } as const;
const DURATION = 18;
const CONTINUATION = 0xffffffff;

/**
 * The names of the columns that are, or contain, durations. Parquet has no such type: they are integers, and only
 * Arrow's schema tells them apart.
 */
export function durationColumns({ key_value_metadata: metadata }: FileMetaData): ReadonlySet<string> {
  const text = metadata?.find(({ key }) => key === KEY)?.value;
  if (text === undefined) return new Set();
  try {
    return namesOf(Buffer.from(text, "base64"));
  } catch (error) {
    // The schema is an extra: a file with a broken one has the types of Parquet.
    if (error instanceof RangeError) return new Set();
    throw error;
  }
}

function namesOf(message: Buffer): ReadonlySet<string> {
  const start = message.readUInt32LE(0) === CONTINUATION ? 8 : 4;
  const header = follow(message, start + message.readUInt32LE(start), MESSAGE_HEADER);
  const names = tablesAt(message, header, SCHEMA_FIELDS)
    .filter((field) => hasDuration(message, field))
    .map((field) => textAt(message, field, FIELD.name));
  return new Set(names);
}

function hasDuration(message: Buffer, field: number): boolean {
  const at = memberAt(message, field, FIELD.typeNumber);
  if (at !== undefined && message.readUInt8(at) === DURATION) return true;
  return tablesAt(message, field, FIELD.children).some((child) => hasDuration(message, child));
}

/** The place of a member of a table of FlatBuffers; undefined if it is left out. */
function memberAt(message: Buffer, table: number, member: number): number | undefined {
  const offsets = table - message.readInt32LE(table);
  const place = 4 + 2 * member;
  if (place >= message.readUInt16LE(offsets)) return undefined;
  const offset = message.readUInt16LE(offsets + place);
  return offset === 0 ? undefined : table + offset;
}

function follow(message: Buffer, table: number, member: number): number {
  const at = memberAt(message, table, member);
  if (at === undefined) throw new RangeError("A table lacks a member.");
  return at + message.readUInt32LE(at);
}

function tablesAt(message: Buffer, table: number, member: number): readonly number[] {
  if (memberAt(message, table, member) === undefined) return [];
  const list = follow(message, table, member);
  return Array.from({ length: message.readUInt32LE(list) }, (_, n) => {
    const at = list + 4 + 4 * n;
    return at + message.readUInt32LE(at);
  });
}

function textAt(message: Buffer, table: number, member: number): string {
  const at = follow(message, table, member);
  return message.toString("utf8", at + 4, at + 4 + message.readUInt32LE(at));
}
