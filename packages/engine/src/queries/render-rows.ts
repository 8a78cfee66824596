import type { EngineValue } from "@appdb/contract/types";
import { kindOf } from "../kinds/kinds.ts";
import type { FinalStage, QueryOutput } from "../query-plans/query-plan.ts";

/** A row of PostgreSQL texts, with its values from Python. */
export interface AnswerRow {
  readonly sql: readonly (string | null)[];
  readonly steps?: readonly EngineValue[];
}

/** Compiles the writer of a response's rows: JSON objects of exactly the selected values, or bare values. */
export function compileRows(
  stage: Pick<FinalStage, "outputs">,
  returnScalar: boolean,
): (sql: AnswerRow["sql"], steps?: AnswerRow["steps"]) => string {
  const [only] = stage.outputs;
  if (returnScalar && only !== undefined) {
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

function outputWriter({ from, type }: QueryOutput): Writer {
  if ("step" in from) {
    const { toJson } = kindOf(type);
    return (_sql, steps) => {
      const value = steps?.[from.step] ?? null;
      return value === null ? "null" : toJson(value);
    };
  }
  const { sql: at } = from;
  const write = kindOf(type).textWriter(type);
  return (sql) => {
    const text = sql[at] ?? null;
    return text === null ? "null" : write(text);
  };
}
