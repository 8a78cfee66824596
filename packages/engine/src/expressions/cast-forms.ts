import { type Form, type Forms, raiseWhere } from "./form.ts";

/**
 * Conversions (`astype`), by the argument's kind and the kind wanted. Text becomes another kind only when it is written
 * in the one way that both sides read alike; everything else raises and is left to Python.
 */
const CASTS: Readonly<Record<string, (sql: string) => string>> = {
  "string,int": matching("^[+-]?[0-9]{1,18}$", "int8"),
  "string,float": matching("^[+-]?[0-9]{1,400}([.][0-9]{1,400})?([eE][+-]?[0-9]{1,3})?$", "float8"),
  "string,date": matching("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "date"),
  "string,timestamp": matching(
    "^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.]([0-9]{3}|[0-9]{6}))?Z$",
    "timestamptz",
  ),
  "string,uuid": matching("^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", "uuid"),
  "string,json": (sql) => `to_json(${sql})`,
  "int,string": (sql) => `${sql}::text`,
  "int,float": (sql) => `${sql}::float8`,
  "int,bool": (sql) => `(${sql} <> 0)`,
  "int,json": (sql) => `to_json(${sql})`,
  "float,int": (sql) => `trunc(${sql})::int8`,
  "bool,string": (sql) => `CASE ${sql} WHEN true THEN 'True' WHEN false THEN 'False' END`,
  "bool,int": (sql) => `${sql}::int4::int8`,
  "bool,json": (sql) => `to_json(${sql})`,
  "timestamp,string": isoTimestamp,
  "timestamp,date": (sql) => `(${sql} AT TIME ZONE 'UTC')::date`,
  "timestamp,json": (sql) => `to_json(${isoTimestamp(sql)})`,
  "date,string": isoDate,
  "date,timestamp": (sql) => `(${sql}::timestamp AT TIME ZONE 'UTC')`,
  "date,json": (sql) => `to_json(${isoDate(sql)})`,
  "uuid,string": (sql) => `${sql}::text`,
  "uuid,json": (sql) => `to_json(${sql}::text)`,
  // Whole numbers print alike on both sides; others, lists and objects do not.
  "json,string": fromJson(["string", "boolean"], "^(0|-?[1-9][0-9]{0,17})$", "text"),
  "json,int": fromJson([], "^-?[0-9]{1,18}$", "int8"),
  // A whole -0 is read as an Int by Python and loses its sign.
  "json,float": fromJson([], "^(?!-0$)-?[0-9]", "float8"),
  "json,bool": fromJson(["boolean"], undefined, "bool"),
};

export const CAST_FORMS: Forms = {
  "op.cast": Object.fromEntries(
    ["string", "int", "float", "bool", "timestamp", "date", "uuid", "json"].map((from): [string, Form] => [
      from,
      ({ args: [arg], kind }) => (arg === undefined ? undefined : CASTS[`${from},${kind}`]?.(arg.sql)),
    ]),
  ),
};

function matching(pattern: string, type: string): (sql: string) => string {
  return (sql) => raiseWhere(`(${sql} !~ '${pattern}')`, `length(${sql})`, type, `${sql}::${type}`);
}

/** A Json value of these types, or a number that is written like `number`, as SQL type `type`. Its null gives null. */
function fromJson(types: readonly string[], number: string | undefined, type: string): (sql: string) => string {
  const plain = ["null", ...types].map((name) => `'${name}'`).join(", ");
  return (sql) => {
    const kind = `json_typeof(${sql})`;
    const text = `(${sql} #>> '{}')`;
    const isNumber = number === undefined ? "" : ` AND (${kind} <> 'number' OR ${text} !~ '${number}')`;
    return raiseWhere(`(${kind} NOT IN (${plain})${isNumber})`, `length(${kind})`, type, `${text}::${type}`);
  };
}

/** `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, the fraction only where there is one. */
function isoTimestamp(sql: string): string {
  const text = `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
  return `(regexp_replace(${text}, '[.]000000$', '') || 'Z')`;
}

function isoDate(sql: string): string {
  return `to_char(${sql}, 'YYYY-MM-DD')`;
}
