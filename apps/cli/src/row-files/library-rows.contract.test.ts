import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ExactJson, ExactNumber, isArray, isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { AppError } from "@appdb/contract/errors";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { storedLines } from "@appdb/testkit/stored-lines";
import { ROOT } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRowFile } from "./read-rows.ts";
import { FILE_CASES, type FileCase } from "./testing/file-cases.ts";

/** Prints for each case what the library sends: lines with their numbers, or the code and line of the refusal. */
const LIBRARY = `import json, re, sys
from appdb.client.rows.encoding import encoded_rows
from appdb.client.rows.sources import source_of
from appdb.client.refusals import refused_rows
from appdb.declare.errors import Error


class Ref:
    def __init__(self, kind, nullable):
        self._kind, self._nullable = kind, nullable


def outcome(name, columns):
    refs = {column: Ref(kind, nullable) for column, (kind, nullable) in columns.items()}
    try:
        source = source_of(name, refs)
        try:
            lines = [line.decode() for line in encoded_rows(source.rows, refs, source.is_frame, lambda _: None)]
        except Error as error:
            from types import SimpleNamespace as Any

            table = Any(path="main/t", __appdb_table__=Any(columns={}))
            raise refused_rows(error, table, source) from error
        return {"rows": [[int(re.search(r"(?:line|row) (\\d+)", source.place(at)).group(1)), line] for at, line in enumerate(lines, 1)]}
    except Error as error:
        line = re.search(r"\\b(?:[Ll]ine|[Rr]ow) (\\d+)", str(error))
        return {"refused": [error.code, line and int(line.group(1)), str(error)]}
    except Exception as error:
        return {"refused": ["CRASH", None, repr(error)]}


for line in sys.stdin:
    name, columns = json.loads(line)
    print(json.dumps(outcome(name, columns)), flush=True)
`;

/** Numbers, objects and arrays. */
const JSON_TEXT = /^\s*(?:[-\d]|\{|\[)/;
const folder = mkdtempSync(join(tmpdir(), "appdb-library-rows-"));
const nameOf = (at: number, { ending }: FileCase) => `case_${at}.${ending}`;
let library: readonly string[];
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(() => {
  FILE_CASES.forEach((one, at) => {
    writeFileSync(join(folder, nameOf(at, one)), one.content);
  });
  const asked = FILE_CASES.map((one, at) => {
    const columns = Object.entries(one.columns).map(([name, type]) => {
      const [kind = ""] = /^\w+/.exec(type) ?? [];
      return [name, [kind.toLowerCase(), type.endsWith("| None")]];
    });
    return JSON.stringify([nameOf(at, one), Object.fromEntries(columns)]);
  });
  const env = { ...process.env, PYTHONPATH: join(ROOT, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  const python = join(ROOT, ".tools", "bin", "python");
  const printed = execFileSync(python, ["-c", LIBRARY], {
    cwd: folder,
    env,
    input: asked.join("\n"),
    encoding: "utf8",
  });
  library = printed.trim().split("\n");
});

type Sent =
  | { readonly rows: readonly (readonly [number, string])[] }
  | { readonly refused: readonly [string, number | null, string] };

async function command(name: string, { columns }: FileCase): Promise<Sent> {
  const table = dataTable("t", { columns: Object.entries(columns).map(([column, type]) => dataColumn(column, type)) });
  const rows: [number, string][] = [];
  let line = 0;
  try {
    const given = readRowFile({ cwd: folder, streamInput: undefined }, name, { path: "main/t", table });
    for await (const some of given) {
      for (const text of some) {
        line += 1;
        if (text.trim() !== "") rows.push([line, text]);
      }
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { refused: [error.code, lineOf(error.message), error.message] };
  }
  return { rows };
}

function lineOf(text: string): number | null {
  const found = /\b(?:line|row) (\d+)/i.exec(text);
  return found === null ? null : Number(found[1]);
}

/** What is stored, or the code and the line of the refusal. */
async function outcome(sent: Sent, { columns }: FileCase): Promise<unknown> {
  if ("refused" in sent) return sent.refused;
  const stored = await storedLines(
    columns,
    sent.rows.map(([, text]) => text),
  );
  if (!(stored instanceof AppError)) return stored.map((row) => row.map(asValue));
  const row = Number(/\d+/.exec(stored.errors?.[0]?.pointer ?? stored.message)?.[0] ?? -1);
  return [stored.code, sent.rows[row]?.[0] ?? null, stored.message];
}

test.each(FILE_CASES.map((one, at) => [one.name, at] as const))("%s", async (_, at) => {
  const one = FILE_CASES[at] as FileCase;
  const theirs = await outcome(JSON.parse(library[at] ?? "null"), one);
  const ours = await outcome(await command(nameOf(at, one), one), one);
  expect(key(ours)).toEqual(key(theirs));
});

/** Json columns keep the text that was sent. */
function asValue(value: unknown): unknown {
  return typeof value === "string" && JSON_TEXT.test(value) ? canonical(parsedOr(value)) : value;
}

function parsedOr(text: string): ExactJson {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function canonical(value: ExactJson): unknown {
  if (value instanceof ExactNumber) return numberOf(value.text);
  if (isArray(value)) return value.map(canonical);
  return isObject(value) ? [...value].map(([name, member]) => [name, canonical(member)]) : value;
}

/** Digits and exponent without zeros at the ends. */
function numberOf(text: string): string {
  const [digits = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  const [, sign = "", all = ""] = /^(-?)0*(\d*?)$/.exec(whole + fraction) ?? [];
  const bare = all.replace(/0+$/, "");
  return bare === "" ? "0" : `${sign}${bare}e${Number(exponent) - fraction.length + all.length - bare.length}`;
}

function key(found: unknown): unknown {
  const [code, line] = found as readonly unknown[];
  return typeof code === "string" ? [code, line] : found;
}
