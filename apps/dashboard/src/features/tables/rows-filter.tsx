import { AppError } from "@appdb/contract/errors";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { plural } from "../../ui/format.ts";
import { conditionExample } from "./condition-example.ts";

/** Errors of the condition's text, shown at its field. */
const OF_CONDITION: ReadonlySet<string> = new Set(["invalid_condition", "column_not_found", "invalid_request"]);

interface RowsFilterProps {
  readonly table: DataTable;
  readonly where: string | undefined;
  /** The rows of the condition. */
  readonly counted: { readonly data: { readonly count: number } | undefined; readonly error: Error | null };
  readonly onFilter: (where: string | undefined) => void;
}

/** The condition of the shown rows. */
export function RowsFilter({ table, where, counted: { data, error }, onFilter }: RowsFilterProps) {
  const isOfCondition = error instanceof AppError && OF_CONDITION.has(error.code);
  const problem = isOfCondition ? [error.message, error.hint].filter(Boolean).join(" ") : undefined;
  return (
    <search>
      <Form
        className="grid gap-2"
        error={isOfCondition ? null : error}
        onSubmit={(values) => onFilter(values("where").trim() || undefined)}
      >
        <Field
          key={where ?? ""}
          label="Condition"
          name="where"
          defaultValue={where ?? ""}
          problem={problem}
          placeholder={conditionExample(table)}
          maxLength={4_000}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          className="font-mono text-sm"
        />
        <div className="flex flex-wrap items-center gap-2">
          <Button small type="submit">
            Filter
          </Button>
          {where !== undefined && (
            <Button small look="quiet" onClick={() => onFilter(undefined)}>
              Show all rows
            </Button>
          )}
          <p role="status" className="text-sm text-muted tabular-nums">
            {where !== undefined &&
              error === null &&
              data !== undefined &&
              `${plural(data.count, "row")} of the condition`}
          </p>
        </div>
      </Form>
    </search>
  );
}
