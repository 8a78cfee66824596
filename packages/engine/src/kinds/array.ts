import type { ColumnType, VectorPrecision } from "@appdb/contract/types";
import { arrayFromSql, arrayToSql } from "./array-sql.ts";
import { arrayFromWire, arrayToWire } from "./array-wire.ts";
import { AGGREGATES, COLLATION, escapeCopy, orNull, PLAIN_IN_URL, quoteElement, same, typedLiteral } from "./common.ts";
import { DTYPES, dtypeOf } from "./dtypes.ts";
import type { Json, JsonObject, Kind, Value } from "./kind.ts";
import { parseArray } from "./parse-array.ts";
import { ARRAYS } from "./results/arrow-columns.ts";
import { PACKED_ARRAYS } from "./results/pack-forms.ts";
import { KEPT } from "./type-change.ts";

/** A longer array would not be a readable example. */
const MAX_ELEMENTS = 16;
/** Factor between a stored value's size and its size in memory: PostgreSQL only reports the compressed size. */
const UNPACKED = 4;

/** Nested lists of elements of one dtype, as JSON text without spaces. Includes vectors of pgvector. */
export const array: Kind = {
  parse: (value, raw, type) => parseArray(type, value, raw),
  parseUrl(text, type) {
    try {
      return parseArray(type, JSON.parse(text), () => text);
    } catch {
      // Not JSON: the caller has the error message.
      return undefined;
    }
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: (value) => value as string,
  fromLiteral: (value) => value,
  literalJson: (value) => JSON.parse(String(value)) as Json,

  // A real array type, so that psql shows the elements and pgvector can cast them.
  storage: storedType,
  collation: ({ dtype }) => (dtype === "string" ? COLLATION : ""),
  cast: castTo,
  // Arrays of arrays would need equal lengths, and unnest() would flatten them.
  transport: "text",
  toSql: sqlText,
  toElement: (value) => quoteElement(arrayToSql(value as string)),
  toCopy: (value, type) => escapeCopy(sqlText(value, type)),
  fromSql: (text, type) => arrayFromSql(dtypeOf(type), text),
  textWriter(type) {
    const dtype = dtypeOf(type);
    return (text) => arrayFromSql(dtype, text);
  },
  fieldWriter: (other) => other,
  castedText: same,
  size: (sql) => `coalesce(pg_column_size(${sql}), 0)::float8 * ${UNPACKED}`,
  isJsonValue: false,
  isForeignSql: isOfOtherShape,
  isWatched: false,

  index: null,
  key: same,
  isOrdered: false,
  equals: null,
  membership: null, // ARRAY[] of arrays is one array with more dimensions.

  literalSql: (value, type) =>
    typeof value === "string" ? typedLiteral(arrayToSql(value), storedType(type)) : undefined,
  casts: {},
  isNull: null,
  printed: null,
  isJsonAlike: false,
  isVector: true,
  aggregates: AGGREGATES,
  changes: { array: (from, to) => (isWiderArray(from, to) ? KEPT : undefined) },

  wire: { to: arrayToWire, from: arrayFromWire },
  packed: null,
  isLong: true,
  binary: null,
  arrow: ARRAYS,
  pack: PACKED_ARRAYS,

  schema: schemaOf,
  nullable: orNull,
  example: exampleOf,
  fits: ({ category, type }) => category === "A" || type.startsWith("vector") || type.startsWith("halfvec"),

  samples: {
    type: { kind: "array", dtype: "float64", shape: null },
    values: ["[]", "[0.0]", "[-0.0,5e-324,1.7976931348623157e+308]", "[0.1,2.0]", "[[1.5,2.5],[-1.0,1e-7]]"],
    random: null,
  },
};

/** The pgvector type for vectors of a length, independent of the extension's schema. */
export function vectorType(precision: VectorPrecision, dimensions: number): string {
  return `appdb.${precision === "fp16" ? "halfvec" : "vector"}(${dimensions})`;
}

function listType(type: ColumnType): string {
  return `${DTYPES[dtypeOf(type)].storage}[]`;
}

function storedType(type: ColumnType): string {
  return type.vector === undefined ? listType(type) : vectorType(type.vector, type.shape?.[0] ?? 0);
}

function castTo(sql: string, type: ColumnType): string {
  // A vector's text is an array text, which pgvector cannot parse but can cast.
  if (type.vector !== undefined) return `((${sql})::${listType(type)})::${storedType(type)}`;
  return `(${sql})::${listType(type)}${array.collation(type)}`;
}

function sqlText(value: Value, type: ColumnType): string {
  // pgvector writes its vectors like JSON lists.
  return type.vector === undefined ? arrayToSql(value as string) : (value as string);
}

function isWiderArray(from: ColumnType, to: ColumnType): boolean {
  if (from.dtype !== to.dtype) return false;
  const [before, after] = [from.shape ?? null, to.shape ?? null];
  if (after === null) return true;
  return before?.length === after.length && after.every((length, at) => length === null || length === before[at]);
}

function schemaOf(type: ColumnType): JsonObject {
  const { schema } = DTYPES[dtypeOf(type)];
  if (type.shape == null) {
    return { type: "array", items: {}, description: `Nested lists of ${type.dtype}, of any shape` };
  }
  return type.shape.reduceRight<JsonObject>(
    (items, length) => ({ type: "array", items, ...(length === null ? {} : { minItems: length, maxItems: length }) }),
    schema,
  );
}

function exampleOf(type: ColumnType): Json | undefined {
  const lengths = (type.shape ?? [null]).map((length) => length ?? 2);
  if (lengths.reduce((all, length) => all * length, 1) > MAX_ELEMENTS) return undefined;
  return lengths.reduceRight<Json>((item, length) => Array.from({ length }, () => item), DTYPES[dtypeOf(type)].example);
}

/** PostgreSQL's arrays have any number of dimensions, begin at any index, and have nulls. Its vectors have none of these. */
function isOfOtherShape(value: string, type: ColumnType): string {
  if (type.vector !== undefined) return "false";
  const { shape = null } = type;
  const lengths = (shape ?? []).map((length, at) =>
    length === null ? "" : ` or array_length(${value}, ${at + 1}) is distinct from ${length}`,
  );
  const dimensions = shape === null ? "" : ` or array_ndims(${value}) is distinct from ${shape.length}`;
  return `(${value} is not null and (array_position(array(select unnest(${value})), null) is not null or array_dims(${value}) ~ '\\[(?!1:)'${dimensions}${lengths.join("")}))`;
}
