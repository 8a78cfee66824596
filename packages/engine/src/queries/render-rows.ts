import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { valueToJson } from "../rows/value-json.ts";
import { fromSqlText } from "../rows/value-sql.ts";
import { floatText } from "../values/float-text.ts";
import type { FinalStage, Output } from "./query-plan.ts";

/** A row of PostgreSQL's texts, and what Python computed of it. */
export interface AnswerRow {
  readonly sql: readonly (string | null)[];
  readonly steps?: readonly EngineValue[];
}

/** Compiles the writer of an answer's rows: JSON objects of exactly what was selected, or bare values. */
export function compileRows(
  stage: Pick<FinalStage, "outputs">,
  return_scalar: boolean,
): (sql: AnswerRow["sql"], steps?: AnswerRow["steps"]) => string {
  const [only] = stage.outputs;
  if (return_scalar && only !== undefined) {
    const write = outputWriter(only);
    return (sql, steps) => write(sql, steps);
  }
  const outputs = stage.outputs.map((output, at) => ({
    lead: `${at === 0 ? "{" : ","}${JSON.stringify(output.name)}:`,
    write: outputWriter(output),
  }));
  if (outputs.length === 0) return () => "{}";
  return (sql, steps) => {
    let text = "";
    for (const { lead, write } of outputs) text += lead + write(sql, steps);
    return `${text}}`;
  };
}

type Writer = (sql: AnswerRow["sql"], steps: AnswerRow["steps"]) => string;

function outputWriter({ from, type }: Output): Writer {
  if ("step" in from) return (_sql, steps) => valueToJson(type.kind, steps?.[from.step] ?? null);
  const { sql: at } = from;
  const write = textWriter(type);
  return (sql) => {
    const text = sql[at] ?? null;
    return text === null ? "null" : write(text);
  };
}

/** From PostgreSQL's text straight to JSON, without a value between where both are written alike. */
export function textWriter(type: ColumnType): (text: string) => string {
  switch (type.kind) {
    case "string":
      return stringToJson;
    case "int":
    case "json":
      return (text) => text;
    case "float":
      return floatToJson;
    case "timestamp":
      return timestampToJson;
    case "bool":
      return (text) => (text === "t" ? "true" : "false");
    case "date":
    case "uuid":
      return (text) => `"${text}"`;
    default:
      return (text) => valueToJson(type.kind, fromSqlText(type, text));
  }
}

/** What JSON writes otherwise than it stands: quotes, backslashes, control characters. PostgreSQL holds no lone surrogates. */
const NEEDS_ESCAPE = /[^ !#-[\]-\uffff]/;

function stringToJson(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Both sides write the fewest digits that tell a number apart, and the same ones unless there is an exponent. */
function floatToJson(text: string): string {
  if (text.includes("e") || text.includes("N") || text.includes("I")) return floatText(Number(text));
  return text.includes(".") ? text : `${text}.0`;
}

/** `2024-01-02 03:04:05.6+00`, as sessions in UTC write it. */
function timestampToJson(text: string): string {
  const end = text.length - 3;
  const day = text.slice(0, 10);
  if (end < 19 || !text.endsWith("+00") || text[10] !== " ") {
    return valueToJson("timestamp", fromSqlText({ kind: "timestamp" }, text));
  }
  if (end === 19) return `"${day}T${text.slice(11, 19)}Z"`;
  return `"${day}T${text.slice(11, end)}${ZEROS.slice(end - 20)}Z"`;
}

const ZEROS = "000000";
