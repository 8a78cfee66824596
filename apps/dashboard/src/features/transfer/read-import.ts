import { type ExactJson, isObject, parseExact, printExact } from "@appdb/contract/clients/exact-json";
import { type CsvCell, readCsv } from "@appdb/contract/clients/read-csv";
import { csvCell, jsonOf } from "@appdb/contract/clients/typed-values";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { cellProblem, isNullable } from "../tables/cell-draft.ts";

/** A cell of a file: text of CSV, or a value of JSON. */
type ImportCell = { readonly csv: CsvCell } | { readonly json: ExactJson };

interface ImportRecord {
  /** Its first line, from 1. */
  readonly line: number;
  readonly cells: ReadonlyMap<string, ImportCell>;
}

export interface LineProblem {
  readonly line: number;
  readonly detail: string;
}

/** The records of a file. */
export interface ImportFile {
  readonly name: string;
  /** Columns of the file, in their order. */
  readonly columns: readonly string[];
  readonly records: readonly ImportRecord[];
  /** Lines without a record. */
  readonly problems: readonly LineProblem[];
}

/** The column of the table for each column of the file; empty for none. */
export type Mapping = Readonly<Record<string, string>>;

/** Reads CSV by its ending, or else JSON lines. @throws usage with the line of CSV that is malformed */
export function readImport(name: string, text: string): ImportFile {
  const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return /\.[ct]sv$/i.test(name) ? readCsvFile(name, content) : readJsonLines(name, content);
}

function readCsvFile(name: string, text: string): ImportFile {
  const { header, rows } = readCsv(text, name);
  const columns = header.cells.map((cell) => cell.text.trim());
  const records = rows.map(({ cells, line }) => ({
    line,
    cells: new Map(columns.map((column, at) => [column, { csv: cells[at] ?? { text: "", is_quoted: false } }])),
  }));
  return { name, columns: [...new Set(columns)], records, problems: [] };
}

function readJsonLines(name: string, text: string): ImportFile {
  const records: ImportRecord[] = [];
  const problems: LineProblem[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const row = parseLine(line);
    if (row instanceof Map)
      records.push({ line: at + 1, cells: new Map([...row].map(([key, json]) => [key, { json }])) });
    else problems.push({ line: at + 1, detail: 'Expected a JSON object: {"title": "..."}' });
  }
  return { name, columns: [...new Set(records.flatMap(({ cells }) => [...cells.keys()]))], records, problems };
}

function parseLine(line: string): ExactJson {
  try {
    const value = parseExact(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Columns that a file can fill. */
export function givenColumns({ columns }: DataTable): readonly DataColumn[] {
  return columns.filter((column) => !column.is_computed);
}

/** Columns of the same name, in upper or lower case. */
export function guessMapping(table: DataTable, { columns }: ImportFile): Mapping {
  const given = givenColumns(table).map(({ name }) => name);
  const find = (name: string) =>
    given.find((one) => one === name) ?? given.find((one) => one.toLowerCase() === name.toLowerCase()) ?? "";
  return Object.fromEntries(columns.map((name) => [name, find(name)]));
}

/** The problems of a file's lines. The server checks the rows again. */
export function findProblems(table: DataTable, file: ImportFile, mapping: Mapping): readonly LineProblem[] {
  const mapped = mappedColumns(table, file, mapping);
  const ofCells = file.records.flatMap(({ cells, line }) =>
    mapped.flatMap(([from, column]) => {
      const cell = cells.get(from);
      if (cell === undefined || !("csv" in cell) || isNull(column, cell.csv)) return [];
      const problem = cellProblem(column, cell.csv.text);
      return problem === undefined
        ? []
        : [{ line, detail: `${column.name} is ${JSON.stringify(cell.csv.text)}. ${problem}` }];
    }),
  );
  return [...file.problems, ...ofCells].sort((one, other) => one.line - other.line);
}

function isNull(column: DataColumn, cell: CsvCell): boolean {
  const { is_quoted: isQuoted, text } = csvCell(column, cell);
  return text === "" && !isQuoted && isNullable(column);
}

/** Two columns of the file that fill the same column of the table. */
export function findClash(file: ImportFile, mapping: Mapping): string | undefined {
  const targets = file.columns.map((column) => mapping[column] ?? "").filter((target) => target !== "");
  return targets.find((target, at) => targets.indexOf(target) !== at);
}

/** The rows as JSON lines, each at the line of its record, so that the server's errors name the file's lines. */
export function printImport(table: DataTable, file: ImportFile, mapping: Mapping): string {
  const mapped = mappedColumns(table, file, mapping);
  const lines: string[] = [];
  for (const { cells, line } of file.records) {
    while (lines.length < line - 1) lines.push("");
    const members = mapped.flatMap(([from, column]) => {
      const cell = cells.get(from);
      return cell === undefined ? [] : [`${JSON.stringify(column.name)}:${cellJson(column, cell)}`];
    });
    lines.push(`{${members.join(",")}}`);
  }
  return `${lines.join("\n")}\n`;
}

/** A cell as the table gets it. */
export function cellJson(column: DataColumn, cell: ImportCell): string {
  return "csv" in cell ? jsonOf(column, csvCell(column, cell.csv)) : printExact(cell.json);
}

/** The columns of the file that fill one of the table. */
export function mappedColumns(
  table: DataTable,
  file: ImportFile,
  mapping: Mapping,
): readonly (readonly [from: string, column: DataColumn])[] {
  const given = givenColumns(table);
  return file.columns.flatMap((from) => {
    const column = given.find(({ name }) => name === mapping[from]);
    return column === undefined ? [] : [[from, column] as const];
  });
}
