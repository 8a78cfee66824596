import { quoteLiteral } from "../sql/quote.ts";
import { raiseWhere } from "../sql/raise-where.ts";
import { type Argument, constantText, type Forms, type SqlTemplate, smallInt } from "./form.ts";

/** The strftime directives that mean the same everywhere, in the form of to_char. */
const DIRECTIVES: Readonly<Record<string, string>> = {
  Y: "YYYY",
  m: "MM",
  d: "DD",
  H: "HH24",
  M: "MI",
  S: "SS",
  f: "US",
  j: "DDD",
  y: "YY",
};
const TIMESPECS: Readonly<Record<string, string>> = {
  hours: "HH24",
  minutes: "HH24:MI",
  seconds: "HH24:MI:SS",
  milliseconds: "HH24:MI:SS.MS",
  microseconds: "HH24:MI:SS.US",
};

/** Fields of a timestamp without time zone, or of a date. */
const FIELDS: Readonly<Record<string, (local: string) => string>> = {
  year: (local) => `extract(year FROM ${local})::int8`,
  month: (local) => `extract(month FROM ${local})::int8`,
  day: (local) => `extract(day FROM ${local})::int8`,
  weekday: (local) => `(extract(isodow FROM ${local})::int8 - 1)`,
  isoweekday: (local) => `extract(isodow FROM ${local})::int8`,
  toordinal: (local) => `(${local}::date - '0001-01-01'::date + 1)::int8`,
  isocalendar: (local) => {
    const part = (name: string, field: string) => `'"${name}":' || extract(${field} FROM ${local})`;
    const parts = [part("year", "isoyear"), part("week", "week"), part("weekday", "isodow")];
    return `('{' || ${parts.join(" || ',' || ")} || '}')::json`;
  },
};
const CLOCK: Readonly<Record<string, (local: string) => string>> = {
  hour: (local) => `extract(hour FROM ${local})::int8`,
  minute: (local) => `extract(minute FROM ${local})::int8`,
  second: (local) => `floor(extract(second FROM ${local}))::int8`,
  microsecond: (local) => `(extract(microseconds FROM ${local})::int8 % 1000000)`,
};

const isoformat: SqlTemplate = ({ args: [ts], kwargs: { sep, timespec } }) => {
  const between = sep === undefined ? "T" : constantText(sep);
  const precision = timespec === undefined ? "auto" : (constantText(timespec) ?? "");
  if (between === undefined || [...between].length !== 1) return undefined;
  const local = utc(ts);
  const pattern = TIMESPECS[precision];
  const clock =
    precision === "auto"
      ? `regexp_replace(to_char(${local}, 'HH24:MI:SS.US'), '[.]000000$', '')`
      : pattern && `to_char(${local}, '${pattern}')`;
  if (clock === undefined) return undefined;
  return `(to_char(${local}, 'YYYY-MM-DD') || ${quoteLiteral(between)} || ${clock} || '+00:00')`;
};

/** A constant format with numeric directives. A year of three digits has several written forms. */
const strftime =
  (toLocal: (argument: Argument | undefined) => string): SqlTemplate =>
  ({ args: [value, format] }) => {
    const text = constantText(format);
    if (text === undefined || !/^[\x20-\x7e]*$/.test(text)) return undefined;
    const local = toLocal(value);
    const pieces: string[] = [];
    let hasPart = false;
    for (const [token] of text.matchAll(/%.?|[^%]+/gs)) {
      const pattern = token.startsWith("%") ? DIRECTIVES[token.slice(1)] : undefined;
      if (pattern !== undefined) {
        hasPart = true;
        pieces.push(`to_char(${local}, '${pattern}')`);
      } else if (token.startsWith("%") && token !== "%%") return undefined;
      else pieces.push(quoteLiteral(token === "%%" ? "%" : token));
    }
    if (!hasPart) return undefined;
    const sql = `(${pieces.join(" || ")})`;
    if (!text.includes("%Y")) return sql;
    const year = `extract(year FROM ${local})::int8`;
    return raiseWhere(`(${year} < 1000)`, year, "text", sql);
  };

const makeDate: SqlTemplate = ({ args: [year, month, day] }) => {
  const checked = within(year, 1, 9999);
  return checked?.(`make_date(${[year, month, day].map(int4).join(", ")})`, "date");
};

const makeTimestamp: SqlTemplate = ({ args: [year, month, day], kwargs }) => {
  const { hour, minute, second, microsecond } = kwargs;
  const seconds = `(${float8(second)} + ${float8(microsecond)} / '1000000'::float8)`;
  let sql = `make_timestamptz(${[year, month, day, hour, minute].map(int4).join(", ")}, ${seconds}, 'UTC')`;
  const bounds: [Argument | undefined, number, number][] = [
    [year, 1, 9999],
    [hour, 0, 23],
    [minute, 0, 59],
    [second, 0, 59],
    [microsecond, 0, 999_999],
  ];
  for (const [argument, from, to] of bounds) {
    const checked = within(argument, from, to);
    if (checked === undefined) return undefined;
    sql = checked(sql, "timestamptz");
  }
  return sql;
};

/** PostgreSQL's dates exceed Python's years 1 to 9999. */
const addDays: SqlTemplate = ({ args: [day, n] }) =>
  raiseWhere(
    `(${n?.sql} NOT BETWEEN ('0001-01-01'::date - ${day?.sql}) AND ('9999-12-31'::date - ${day?.sql}))`,
    // Uses both, because one of them may be a constant.
    `${n?.sql} + (${day?.sql} - ${day?.sql})`,
    "date",
    `(${day?.sql} + ${n?.sql}::int4)`,
  );

/** Functions of timestamps and dates. Python handles zones other than UTC, whose rules may be of another version. */
export const TIME_FORMS: Forms = {
  ...fields("timestamp", { ...FIELDS, ...CLOCK }, utc),
  ...fields("date", FIELDS, (day) => day?.sql ?? ""),
  "timestamp.date": { timestamp: ({ args: [ts] }) => `${utc(ts)}::date` },
  "timestamp.isoformat": { timestamp: isoformat },
  "timestamp.strftime": { "timestamp,string": strftime(utc) },
  "timestamp.posix_timestamp": { timestamp: ({ args: [ts] }) => `extract(epoch FROM ${ts?.sql})::float8` },
  "timestamp.make_timestamp": { "int,int,int": makeTimestamp },
  "date.isoformat": {
    date: ({ args: [day], kwargs }) =>
      Object.keys(kwargs).length === 0 ? `to_char(${day?.sql}::timestamp, 'YYYY-MM-DD')` : undefined,
  },
  "date.strftime": { "date,string": strftime((day) => `${day?.sql}::timestamp`) },
  "date.add_days": { "date,int": addDays },
  "date.make_date": { "int,int,int": makeDate },
};

function fields(
  kind: "timestamp" | "date",
  builders: Readonly<Record<string, (local: string) => string>>,
  toLocal: (argument: Argument | undefined) => string,
): Forms {
  return Object.fromEntries(
    Object.entries(builders).map(([name, build]) => [
      `${kind}.${name}`,
      { [kind]: (({ args: [value] }) => build(toLocal(value))) satisfies SqlTemplate },
    ]),
  );
}

function utc(ts: Argument | undefined): string {
  return `(${ts?.sql} AT TIME ZONE 'UTC')`;
}

function int4(argument: Argument | undefined): string {
  return argument === undefined ? "0" : `${argument.sql}::int4`;
}

function float8(argument: Argument | undefined): string {
  return argument === undefined ? "'0'::float8" : `${argument.sql}::float8`;
}

/** Wraps SQL so that it raises if the argument is out of range; undefined for a constant out of range. */
function within(
  argument: Argument | undefined,
  from: number,
  to: number,
): ((sql: string, type: string) => string) | undefined {
  if (argument === undefined) return (sql) => sql;
  if (argument.expr.node === "literal") {
    const value = smallInt(argument, 1_000_000);
    return value !== undefined && value >= from && value <= to ? (sql) => sql : undefined;
  }
  return (sql, type) => raiseWhere(`(${argument.sql} NOT BETWEEN ${from} AND ${to})`, argument.sql, type, sql);
}
