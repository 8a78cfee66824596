import * as z from "zod";
import { displayJson } from "./display-json.ts";

/** The kinds of a column's type, by their names for people. A kind has one storage type, one JSON form and one
 *  Python form (docs/adr/0002-values-and-two-evaluators.md). packages/engine/src/kinds and python/appdb/kinds have a
 *  file for each. */
const KIND_NAMES = {
  string: "String",
  int: "Int",
  float: "Float",
  bool: "Bool",
  timestamp: "Timestamp",
  date: "Date",
  uuid: "UUID",
  json: "Json",
  array: "Array",
  binary: "Binary",
  image: "Image",
  video: "Video",
  audio: "Audio",
  document: "Document",
} as const;
export type TypeKind = keyof typeof KIND_NAMES;
export const TYPE_KINDS = Object.keys(KIND_NAMES) as readonly TypeKind[];

/** The types of array elements, with NumPy's names. */
export const ARRAY_DTYPES = [
  "bool",
  "uint8",
  "int8",
  "int16",
  "int32",
  "int64",
  "float32",
  "float64",
  "string",
] as const;
export type ArrayDtype = (typeof ARRAY_DTYPES)[number];

/** `fp16` has half the digits in half the space, and allows twice as many dimensions. */
export const VECTOR_PRECISIONS = ["fp16", "fp32"] as const;
export type VectorPrecision = (typeof VECTOR_PRECISIONS)[number];

/** pgvector's maximum number of indexed dimensions. */
export const MAX_DIMENSIONS = { fp16: 4_000, fp32: 2_000 } as const satisfies Record<VectorPrecision, number>;

/** The kinds of columns that hold media. */
export const MEDIA_KINDS = ["image", "video", "audio", "document"] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

export function isMediaKind(kind: string): kind is MediaKind {
  return (MEDIA_KINDS as readonly string[]).includes(kind);
}

/** Forms of pixels that a column may ask for; the names are Pillow's. */
export const IMAGE_MODES = [
  "1",
  "L",
  "P",
  "RGB",
  "RGBA",
  "CMYK",
  "YCbCr",
  "LAB",
  "HSV",
  "I",
  "F",
  "LA",
  "I;16",
] as const;

/**
 * A column's type. A json type may have a JSON Schema for its values (none allows all). An array type always has its
 * `dtype` and `shape` (null: any shape; a null in it: any length there).
 */
export const columnTypeSchema = z
  .strictObject({
    kind: z.enum(TYPE_KINDS),
    schema: z.record(z.string(), z.unknown()).optional(),
    dtype: z.enum(ARRAY_DTYPES).optional(),
    shape: z.array(z.int().min(0).nullable()).min(1).nullable().optional(),
    /** Stored as a pgvector vector of this precision, for an embedding index. One dimension, of a fixed length. */
    vector: z.enum(VECTOR_PRECISIONS).optional(),
    /** Width and height in pixels that images of the column have; null: any. */
    size: z.tuple([z.int().min(1).nullable(), z.int().min(1).nullable()]).optional(),
    /** The form of the pixels that images of the column have, by Pillow's name: RGB, L. */
    mode: z.enum(IMAGE_MODES).optional(),
    /** `on_read`: files of the column are stored without a check; absent: they are decoded before the row is stored. */
    validation: z.literal("on_read").optional(),
    /** The address of the store for media that the column computes; absent: that of the database. */
    destination: z.string().max(1_000).optional(),
  })
  .refine(
    ({ kind, validation, destination }) => (validation === undefined && destination === undefined) || isMediaKind(kind),
    "only a media type has a validation or a destination",
  )
  .refine((type) => type.schema === undefined || type.kind === "json", "only a json type has a schema")
  .refine(
    ({ kind, size, mode }) => kind === "image" || (size === undefined && mode === undefined),
    "only an image type has a size or a mode",
  )
  .refine(
    (type) => (type.kind === "array") === (type.dtype !== undefined && type.shape !== undefined),
    "an array type has a dtype and a shape, no other has",
  )
  .refine(
    ({ vector, shape }) => vector === undefined || (shape?.length === 1 && typeof shape[0] === "number"),
    "a vector has one dimension, of a fixed length",
  );
export type ColumnType = z.infer<typeof columnTypeSchema>;
/** Where any type will do. */
export const ANY_TYPE: ColumnType = { kind: "string" };

/** Prints a type as in app.py: `String`, `Int | None`, `Array[(768,), float32]`. */
export function displayType(type: ColumnType, nullable: boolean): string {
  const text = displayFull(type);
  return nullable ? `${text} | None` : text;
}

function displayFull(type: ColumnType): string {
  if (type.kind === "array") return displayArray(type);
  if (type.kind === "image") return displayImage(type);
  return type.kind === "json" ? displayJson(type.schema) : KIND_NAMES[type.kind];
}

/** Prints an image type: `Image[(224, 224), 'RGB']`, `Image['L']`. */
function displayImage({ size, mode }: ColumnType): string {
  const parts = [
    ...(size === undefined ? [] : [`(${size[0] ?? "None"}, ${size[1] ?? "None"})`]),
    ...(mode === undefined ? [] : [`'${mode}'`]),
  ];
  return parts.length === 0 ? KIND_NAMES.image : `${KIND_NAMES.image}[${parts.join(", ")}]`;
}

/** Prints an array type: `Array[(None, 3), int64]`, `Array[float32]` for any shape. */
export function displayArray({ dtype, shape }: ColumnType): string {
  const element = dtype === "string" ? "str" : dtype;
  if (shape == null) return `Array[${element}]`;
  const lengths = shape.map((length) => length ?? "None");
  return `Array[(${lengths.length === 1 ? `${lengths[0]},` : lengths.join(", ")}), ${element}]`;
}

/**
 * A value inside the engine, by the kind of its column: string -> string; int -> number when safe, else bigint; float
 * -> number (finite); bool -> boolean; timestamp -> `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`; date -> `YYYY-MM-DD`; uuid ->
 * lower-case text with hyphens; json -> JSON text (key order and digits kept); array -> JSON text of the nested list,
 * without spaces, its floats in JavaScript's shortest form with a point or an exponent; binary -> bytes;
 * image, video, audio, document -> the JSON text of a reference (media.ts); null for null.
 */
export type EngineValue = string | number | bigint | boolean | Uint8Array | null;
