import { appError } from "@appdb/contract/errors";
import type { ManifestParameter } from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import type { EngineValue } from "@appdb/contract/types";
import type { RawText } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import { literalValue, parseUrlText, parseValue } from "../kinds/values.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import { ErrorList } from "../rows/error-list.ts";
import { type ParsedBody, parseBody } from "../rows/parse-body.ts";
import { ValueError } from "../values/value-error.ts";

/** Reads parameter values from a JSON body, a form, or a URL's query string. */
export interface ParameterReader {
  /** `path`: texts of the address, which take precedence.
   *  @throws invalid_json, invalid_request with one entry per invalid parameter */
  fromBody(body: Uint8Array | string | ParsedBody, path?: PathTexts): QueryArguments;
  /**
   * Converts text to the declared types. Of a repeated parameter the last one counts. A repeated Json parameter becomes
   * a list: `?ks=a&ks=b` is `?ks=["a","b"]`. `path` as in fromBody. @throws invalid_request
   */
  fromUrl(search: string, path?: PathTexts): QueryArguments;
  /** Internal values: the arguments of a computed column. */
  fromValues(values: Readonly<Record<string, EngineValue>>): QueryArguments;
}

/** Compiles the reader. Parameters outside `inputs` have their defaults and cannot be set. */
export function compileParameters(
  parameters: readonly ManifestParameter[],
  inputs: readonly string[] = parameters.map(({ name }) => name),
): ParameterReader {
  const taken = new Map(parameters.filter(({ name }) => inputs.includes(name)).map((known) => [known.name, known]));
  const defaults = new Map<string, EngineValue>();
  for (const parameter of parameters) {
    const { name, type, default: value } = parameter;
    if (value !== undefined) defaults.set(name, literalValue({ type, value }));
  }
  const read = (entries: Iterable<readonly [string, Given]>): QueryArguments => {
    const args = new Map(defaults);
    const errors = new ErrorList();
    const seen = new Set<string>();
    for (const [name, value] of entries) {
      if (errors.hasMore) break;
      const parameter = taken.get(name);
      const parsed = parameter === undefined ? new ValueError(unknown(name, taken.keys())) : value(parameter);
      seen.add(name);
      if (!(parsed instanceof ValueError)) args.set(name, parsed);
      else errors.add({ pointer: pointerTo(name) + (parsed.pointer ?? ""), detail: parsed.detail });
    }
    for (const name of taken.keys()) {
      if (seen.has(name) || defaults.has(name)) continue;
      errors.add({ pointer: pointerTo(name), detail: `The parameter "${name}" is required.` });
    }
    if (errors.reported.length > 0) throw refused(errors, taken.values());
    return args;
  };
  return {
    fromBody(body, path = {}) {
      const isSource = typeof body === "string" || body instanceof Uint8Array;
      if (isSource && body.length === 0) return read(givenBy(path));
      const parsed = isSource ? parseBody(body) : body;
      const given = Object.entries(parsed.members).map(([name, value]) => {
        const isText = parsed.is_form === true && typeof value === "string";
        return [name, isText ? fromTexts([value]) : fromJson(value, () => parsed.raw(name))] as const;
      });
      return read([...given, ...givenBy(path)]);
    },
    fromUrl(search, path = {}) {
      if (search === "") return read(givenBy(path));
      const texts = new Map<string, string[]>();
      for (const [name, text] of new URLSearchParams(search)) texts.set(name, [...(texts.get(name) ?? []), text]);
      return read([...[...texts].map(([name, given]) => [name, fromTexts(given)] as const), ...givenBy(path)]);
    },
    fromValues: (values) =>
      read(
        Object.entries(values).map(
          ([name, value]) => [name, (known: ManifestParameter) => nullable(known, value)] as const,
        ),
      ),
  };
}

/** Decoded texts of a path's parameters, by name. */
export type PathTexts = Readonly<Record<string, string>>;

type Given = (parameter: ManifestParameter) => EngineValue | ValueError;

function givenBy(path: PathTexts): (readonly [string, Given])[] {
  return Object.entries(path).map(([name, text]) => [name, fromTexts([text])] as const);
}

function nullable(parameter: ManifestParameter, value: EngineValue): EngineValue | ValueError {
  return value === null && !parameter.nullable ? notNull(parameter) : value;
}

function notNull({ name }: ManifestParameter): ValueError {
  return new ValueError(`The parameter "${name}" must not be null.`);
}

function fromJson(value: unknown, raw: RawText): Given {
  return (parameter) => {
    if (value === null) return parameter.nullable ? null : notNull(parameter);
    return parseValue(parameter.type, value, raw);
  };
}

function fromTexts(texts: readonly string[]): Given {
  return (parameter) => {
    const { joinUrl, hasEmptyText } = kindOf(parameter.type);
    if (joinUrl !== null && texts.length > 1) return parseUrlText(parameter.type, joinUrl(texts));
    const text = texts.at(-1) ?? "";
    if (text === "" && parameter.nullable && !hasEmptyText) return null;
    return parseUrlText(parameter.type, text);
  };
}

function refused(errors: ErrorList, taken: Iterable<ManifestParameter>): Error {
  const names = [...taken].map((known) => known.name + (known.default === undefined ? "" : "?"));
  return appError("invalid_request", {
    detail: errors.sentence("parameters"),
    hint: names.length === 0 ? "The route takes no parameters." : `The route takes: ${names.join(", ")}`,
    errors: errors.reported,
  });
}

function unknown(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return `The route takes no parameter "${name}".${nearest === undefined ? "" : ` Did you mean "${nearest}"?`}`;
}

function pointerTo(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
