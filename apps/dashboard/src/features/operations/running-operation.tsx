import type { Database } from "@appdb/contract/routes/control-databases";
import { useState } from "react";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Section } from "../../ui/page.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { OperationLog } from "./operation-log.tsx";
import { hasEnded, OperationState } from "./operation-state.tsx";
import { timeOf } from "./operations-table.tsx";
import { useOperation } from "./use-operation.ts";

/** The running operation with its output. After its end it stays until the person closes it. */
export function RunningOperation({ database }: { readonly database: Database }) {
  const [shown, setShown] = useState(database.operation?.id);
  // set during rendering, so that the newest operation replaces the previous one at once
  if (database.operation !== null && database.operation.id !== shown) setShown(database.operation.id);
  if (shown === undefined) return null;
  return <Shown key={shown} database={database} id={shown} onClose={() => setShown(undefined)} />;
}

interface ShownProps {
  readonly database: Database;
  readonly id: string;
  readonly onClose: () => void;
}

function Shown({ database, id, onClose }: ShownProps) {
  const { organization: org, failure, last_build: lastBuild } = database;
  const { operation, error } = useOperation(org, id);
  if (operation === undefined) return error && <ProblemAlert error={error} />;
  const has_ended = hasEnded(operation);
  const messages = [failure?.detail, lastBuild?.error?.detail];
  return (
    <Section
      title={has_ended ? "Just done" : "Under way"}
      actions={
        has_ended && (
          <Button small look="quiet" onClick={onClose}>
            Close
          </Button>
        )
      }
    >
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-sm">
        <TextLink to="/orgs/$org/operations/$operation" params={{ org, operation: id }}>
          {operation.kind}
        </TextLink>
        <OperationState state={operation.state} />
        <span className="text-muted tabular-nums">
          {timeOf(operation)}, requested by {operation.actor}
        </span>
      </p>
      {operation.error && !messages.includes(operation.error.detail) && (
        <Alert kind="problem" title={operation.error.detail}>
          {operation.error.hint && <p>{operation.error.hint}</p>}
        </Alert>
      )}
      <OperationLog org={org} operation={operation} />
    </Section>
  );
}
