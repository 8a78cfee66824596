import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { KEYS } from "../api/queries.ts";
import { useAction } from "../api/use-action.ts";
import { OperationLog } from "../features/operations/operation-log.tsx";
import { hasEnded, OperationState } from "../features/operations/operation-state.tsx";
import { timeOf } from "../features/operations/operations-table.tsx";
import { useOperation } from "../features/operations/use-operation.ts";
import { Alert, ProblemAlert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { Command } from "../ui/command.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { Card, Facts, Page, Section } from "../ui/page.tsx";
import { Loading } from "../ui/table.tsx";
import { TextLink } from "../ui/text-link.tsx";
import { Time } from "../ui/time.tsx";

/** One operation with its result and output. */
export function OperationPage() {
  const { org, operation: id } = useParams({ from: "/signed-in/orgs/$org/operations/$operation" });
  const { operation, error } = useOperation(org, id);
  const [asking, setAsking] = useState(false);
  const cancel = useAction(
    (api, _: undefined, options) => api.control.call("operationCancel", { params: { org, id } }, options),
    { changes: [KEYS.operations(org)], onDone: () => setAsking(false) },
  );
  if (operation === undefined) {
    return <Page title="Operation">{error ? <ProblemAlert error={error} /> : <Loading />}</Page>;
  }
  const runs = !hasEnded(operation);
  return (
    <Page
      title={operation.kind}
      about={operation.target}
      badge={
        <span aria-live="polite">
          <OperationState state={operation.state} />
        </span>
      }
      lead={<Target org={org} target={operation.target} />}
      actions={runs && <Button onClick={() => setAsking(true)}>Cancel</Button>}
    >
      {error && <ProblemAlert error={error} />}
      {operation.error && (
        <Alert kind="problem" title={operation.error.detail}>
          {operation.error.hint && <p>{operation.error.hint}</p>}
        </Alert>
      )}
      <Card>
        <Facts
          facts={[
            ["Requested by", operation.actor],
            ["Requested", <Time key="asked" at={operation.created_at} to="second" />],
            ["Started", <Time key="began" at={operation.started_at} to="second" none="not yet" />],
            ["Ended", <Time key="ended" at={operation.ended_at} to="second" none="not yet" />],
            [runs ? "Running for" : "Duration", timeOf(operation)],
            ...(operation.detail === null ? [] : [["Detail", operation.detail] as const]),
            [
              "In a terminal",
              <Command key="command" text={`cli operations ${runs ? "wait" : "show"} ${id} --org ${org}`} />,
            ],
          ]}
        />
      </Card>
      <Section title="Output">
        <OperationLog org={org} operation={operation} tall />
      </Section>
      {asking && (
        <ConfirmDialog
          title={`Cancel ${operation.kind}?`}
          verb="Cancel the operation"
          action={cancel}
          onConfirm={() => cancel.run(undefined)}
          onClose={() => setAsking(false)}
          command={`cli operations cancel ${id} --org ${org}`}
        >
          Completed steps stay; the remaining ones are not carried out.
        </ConfirmDialog>
      )}
    </Page>
  );
}

/** The operation's database, if it has one. */
function Target({ org, target }: { readonly org: string; readonly target: string }) {
  const begin = databaseUriOf(org, "");
  if (!target.startsWith(begin)) return <code className="text-sm">{target}</code>;
  return (
    <TextLink to="/orgs/$org/databases/$db" params={{ org, db: target.slice(begin.length) }}>
      <code className="text-sm">{target}</code>
    </TextLink>
  );
}
