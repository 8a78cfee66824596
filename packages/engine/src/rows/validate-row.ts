import { appError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { Generators, Row, RowLayout } from "../compute/row-layout.ts";
import type { JsonCheck, JsonChecks } from "../kinds/json-checks.ts";
import type { Kind } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import { parseFormField } from "../kinds/values.ts";
import { ValueError } from "../values/value-error.ts";
import { ErrorList } from "./error-list.ts";
import { type JsonSource, type ParsedBody, parseBody } from "./parse-body.ts";

/** Parses a request body into a row of the layout. Slots that the route does not take stay null.
 *  @throws invalid_json, invalid_request with one entry per invalid field */
export type RowReader = (body: Uint8Array | string | ParsedBody, what?: JsonSource) => Row;

/** Parses a request body into the key and the new values of a row. Also returns its inputs in the route's order.
 *  @throws as RowReader */
export type ChangeReader = (body: Uint8Array | string | ParsedBody) => RowChange;

export interface RowChange {
  readonly row: Row;
  readonly sent: readonly string[];
}

interface Input {
  readonly name: string;
  readonly type: ColumnType;
  readonly parse: Kind["parse"];
  readonly nullable: boolean;
  readonly required: boolean;
  readonly check: JsonCheck | undefined;
  readonly slot: number;
}

/** Compiles the reader of a new row's body: one lookup and one check per field. It builds messages only for errors.
 *  Columns that a body omits get their defaults. `needed`: the columns that a body must have; omitted: all. */
export function compileRowReader(
  layout: RowLayout,
  inputs: readonly string[],
  checks: JsonChecks,
  make: Generators,
  needed?: ReadonlySet<string>,
): RowReader {
  const fields = new Map<string, Input>();
  for (const name of inputs) {
    const input = inputOf(layout, name, checks);
    const isNeeded = needed?.has(name) !== false && layout.slots[input.slot]?.default === undefined;
    fields.set(name, { ...input, required: input.required && isNeeded });
  }
  const blank: Row = layout.slots.map(({ default: defaultValue }) =>
    defaultValue && "value" in defaultValue ? defaultValue.value : null,
  );
  const made = layout.slots.flatMap(({ name, default: defaultValue }, slot) =>
    defaultValue !== undefined && "generator" in defaultValue
      ? [{ name, slot, generator: defaultValue.generator }]
      : [],
  );
  const read = compileReader(layout, fields, blank);
  return (given, what) => {
    const body = bodyOf(given, what);
    const row = read(body);
    for (const { name, slot, generator } of made) {
      if (!Object.hasOwn(body.members, name)) row[slot] = make[generator]();
    }
    return row;
  };
}

/** Compiles the reader of bodies with a required row key and any of the inputs. */
export function compileChangeReader(
  layout: RowLayout,
  { key, inputs }: { readonly key: readonly string[]; readonly inputs: readonly string[] },
  checks: JsonChecks,
): ChangeReader {
  const fields = new Map<string, Input>();
  for (const name of key) fields.set(name, { ...inputOf(layout, name, checks), nullable: false, required: true });
  for (const name of inputs) fields.set(name, { ...inputOf(layout, name, checks), required: false });
  const read = compileReader(layout, fields);
  return (given) => {
    const body = bodyOf(given);
    const row = read(body);
    return { row, sent: inputs.filter((name) => Object.hasOwn(body.members, name)) };
  };
}

/** Compiles the reader of bodies with a value for each of `columns`. The value can be null where the column can. */
export function compileMatchReader(layout: RowLayout, columns: readonly string[], checks: JsonChecks): RowReader {
  const fields = new Map<string, Input>();
  for (const name of columns) {
    const input = inputOf(layout, name, checks);
    // A computed cell can be null whatever the type of its column.
    const isComputed = layout.computed.includes(name) && !layout.table.primary_key.includes(name);
    fields.set(name, { ...input, nullable: input.nullable || isComputed, required: true });
  }
  const read = compileReader(layout, fields);
  return (given) => read(bodyOf(given));
}

function bodyOf(given: Uint8Array | string | ParsedBody, what?: JsonSource): ParsedBody {
  return typeof given === "string" || given instanceof Uint8Array ? parseBody(given, what) : given;
}

function inputOf(layout: RowLayout, name: string, checks: JsonChecks): Input {
  const slot = layout.index.get(name);
  const column = slot === undefined ? undefined : layout.slots[slot];
  if (slot === undefined || column === undefined) throw new TypeError(`${layout.table.name} has no column ${name}`);
  const { type, nullable } = column;
  return { name, type, parse: kindOf(type).parse, nullable, required: !nullable, check: checks.of(type), slot };
}

function compileReader(
  layout: RowLayout,
  fields: ReadonlyMap<string, Input>,
  blank: Row = layout.slots.map(() => null),
): (body: ParsedBody) => Row {
  return (body) => {
    const row = blank.slice();
    let found = 0;
    for (const name in body.members) {
      const field = fields.get(name);
      if (field === undefined) throw refuse(layout, fields, body);
      const value = body.members[name];
      found += 1;
      if (value === null) {
        if (!field.nullable) throw refuse(layout, fields, body);
        row[field.slot] = null;
        continue;
      }
      const parsed = parseField(field, value, body);
      if (parsed instanceof ValueError) throw refuse(layout, fields, body);
      row[field.slot] = parsed;
    }
    if (found < fields.size && hasMissingRequired(fields, body)) throw refuse(layout, fields, body);
    return row;
  };
}

function parseField(field: Input, value: unknown, body: ParsedBody): EngineValue | ValueError {
  if (body.is_form === true && typeof value === "string") return parseFormText(field, value);
  const parsed = field.parse(value, () => body.raw(field.name), field.type);
  return field.check === undefined || parsed instanceof ValueError ? parsed : (field.check(value) ?? parsed);
}

function parseFormText(field: Input, text: string): EngineValue | ValueError {
  const parsed = parseFormField(field.name, field.type, text);
  return field.check === undefined || parsed instanceof ValueError
    ? parsed
    : (field.check(JSON.parse(String(parsed))) ?? parsed);
}

function hasMissingRequired(fields: ReadonlyMap<string, Input>, body: ParsedBody): boolean {
  for (const field of fields.values()) {
    if (field.required && !Object.hasOwn(body.members, field.name)) return true;
  }
  return false;
}

/** Checks the body a second time to report all errors at once. */
function refuse(layout: RowLayout, fields: ReadonlyMap<string, Input>, body: ParsedBody): Error {
  const errors = new ErrorList();
  for (const [name, value] of Object.entries(body.members)) {
    if (errors.hasMore) break;
    const field = fields.get(name);
    const misfit =
      field === undefined ? new ValueError(unknownField(layout, fields, name)) : misfitOf(field, value, body);
    if (misfit === undefined) continue;
    for (const { pointer, detail } of [misfit, ...misfit.others]) {
      errors.add({ pointer: pointerTo(name) + pointer, detail });
    }
  }
  for (const field of fields.values()) {
    if (!field.required || Object.hasOwn(body.members, field.name)) continue;
    errors.add({ pointer: pointerTo(field.name), detail: `The field "${field.name}" is required.` });
  }
  return appError("invalid_request", {
    detail: errors.sentence("values"),
    hint: `The route takes: ${[...fields.values()].map((field) => field.name + (field.required ? "" : "?")).join(", ")}`,
    meta: { table: layout.table.name },
    errors: errors.reported,
  });
}

function misfitOf(field: Input, value: unknown, body: ParsedBody): ValueError | undefined {
  if (value === null) return field.nullable ? undefined : new ValueError(`The field "${field.name}" must not be null.`);
  const parsed = parseField(field, value, body);
  return parsed instanceof ValueError ? parsed : undefined;
}

function unknownField(layout: RowLayout, fields: ReadonlyMap<string, Input>, name: string): string {
  const column = layout.table.columns.find((candidate) => candidate.name === name);
  if (column?.computed != null) return `"${name}" is computed by the service; omit it.`;
  if (column !== undefined) return `"${name}" is a column of ${layout.table.name}, but not an input of this route.`;
  const nearest = nearestName(name, fields.keys());
  return `The route takes no field "${name}".${nearest === undefined ? "" : ` Did you mean "${nearest}"?`}`;
}

function pointerTo(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
