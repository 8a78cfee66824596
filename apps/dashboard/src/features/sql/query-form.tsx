import type { Database } from "@appdb/contract/routes/control-databases";
import { useState } from "react";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { plural } from "../../ui/format.ts";
import { Plan } from "./plan.tsx";
import { readMessages } from "./read-messages.ts";
import { ResultTable } from "./result-table.tsx";

/** Rows of a result that the page shows. */
const SHOWN = 1_000;

interface QueryFormProps {
  readonly database: Database;
  /** An example over a table of the database. */
  readonly example: string;
}

/** SQL of a person, which can only read, and its result. */
export function QueryForm({ database: { name, organization }, example }: QueryFormProps) {
  const [sql, setSql] = useState(example);
  const [ms, setMs] = useState(0);
  const query = useAction(async (api, { explain, statement }: { statement: string; explain: boolean }) => {
    const begun = performance.now();
    const params = { org: organization, db: name };
    const text = await api.control.text(
      "sqlRun",
      { params, body: { sql: statement, limit: SHOWN, ...(explain ? { explain } : {}) } },
      { headers: { accept: "application/x-ndjson" } },
    );
    setMs(Math.round(performance.now() - begun));
    return { ...readMessages(text), is_plan: explain };
  });
  const start = (explain: boolean) => {
    if (sql.trim() !== "") query.run({ statement: sql, explain });
  };
  const run = () => start(false);
  const { result } = query;
  return (
    <div className="grid grid-cols-1 gap-5">
      <Form error={query.error} onSubmit={run}>
        <TextArea
          label="SQL"
          name="sql"
          rows={Math.min(16, Math.max(5, sql.split("\n").length))}
          value={sql}
          onChange={(event) => setSql(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            run();
          }}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          className="font-mono text-sm"
          help="One statement that reads: SELECT, WITH, VALUES or TABLE. Ctrl and Enter run it."
        />
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" look="primary" busy={query.pending} disabled={sql.trim() === ""}>
            Run
          </Button>
          <Button busy={query.pending} disabled={sql.trim() === ""} onClick={() => start(true)}>
            Show plan
          </Button>
          <p role="status" className="text-sm text-muted tabular-nums">
            {query.pending && "Running ..."}
            {!query.pending && result?.is_plan === true && `Planned in ${ms} ms. The statement did not run.`}
            {!query.pending && result?.is_plan === false && `${plural(result.rows.length, "row")} in ${ms} ms`}
            {!query.pending && result?.has_more === true && `. There are more: the page shows ${plural(SHOWN, "row")}.`}
          </p>
        </div>
      </Form>
      {result && !query.error && (result.is_plan ? <Plan result={result} /> : <ResultTable result={result} />)}
    </div>
  );
}
