import type { Org, Webhook } from "@appdb/contract/routes/control";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { may } from "../organizations/use-org.ts";
import { DeliveriesDialog } from "./deliveries-dialog.tsx";

export function WebhooksTable({ org }: { readonly org: Org }) {
  const [deleting, setDeleting] = useState<Webhook | undefined>(undefined);
  const [showing, setShowing] = useState<Webhook | undefined>(undefined);
  const webhooks = useList(KEYS.webhooks(org.name), (api, query, options) =>
    api.control.call("webhookList", { params: { org: org.name }, query }, options),
  );
  const remove = useAction(
    (api, id: string, options) => api.control.call("webhookDelete", { params: { org: org.name, id } }, options),
    { changes: [KEYS.webhooks(org.name)], onDone: () => setDeleting(undefined) },
  );
  const resume = useAction(
    (api, id: string, options) => api.control.call("webhookResume", { params: { org: org.name, id } }, options),
    { changes: [KEYS.webhooks(org.name)] },
  );
  return (
    <>
      {resume.error && <ProblemAlert error={resume.error} />}
      <ListTable
        caption="Webhooks"
        list={webhooks}
        keyOf={(webhook) => webhook.id}
        columns={[
          {
            title: "Address",
            names_row: true,
            cell: (webhook) => <span className="block max-w-72 font-normal break-all">{webhook.url}</span>,
          },
          {
            title: "Events",
            cell: (webhook) =>
              webhook.actions.length === 0 ? <Badge>all</Badge> : <code>{webhook.actions.join(", ")}</code>,
          },
          {
            title: "State",
            cell: (webhook) => <WebhookState webhook={webhook} />,
          },
          { title: "Created", cell: (webhook) => <Time at={webhook.created_at} to="day" /> },
          {
            title: "",
            cell: (webhook) => (
              <RowButtons>
                <Button small look="quiet" onClick={() => setShowing(webhook)}>
                  Deliveries<span className="sr-only"> to {webhook.url}</span>
                </Button>
                {webhook.paused_at !== null && may(org, "webhook.write") && (
                  <Button small look="quiet" busy={resume.pending} onClick={() => resume.run(webhook.id)}>
                    Resume<span className="sr-only"> {webhook.url}</span>
                  </Button>
                )}
                {may(org, "webhook.write") && (
                  <Button small look="quiet" onClick={() => setDeleting(webhook)}>
                    Delete<span className="sr-only"> {webhook.url}</span>
                  </Button>
                )}
              </RowButtons>
            ),
          },
        ]}
        empty={<Empty title="No webhook yet">Notify a chat, a ticket system or your own program of changes.</Empty>}
      />
      {showing && <DeliveriesDialog org={org} webhook={showing} onClose={() => setShowing(undefined)} />}
      {deleting && (
        <ConfirmDialog
          title="Delete the webhook?"
          verb="Delete webhook"
          action={remove}
          onConfirm={() => remove.run(deleting.id)}
          onClose={() => {
            remove.reset();
            setDeleting(undefined);
          }}
        >
          Nothing more is posted to {deleting.url}, and its deliveries are removed.
        </ConfirmDialog>
      )}
    </>
  );
}

function WebhookState({
  webhook: { failing_since: failingSince, paused_at: pausedAt },
}: {
  readonly webhook: Webhook;
}) {
  const since = pausedAt ?? failingSince;
  if (since === null) return <Badge tone="good">delivering</Badge>;
  return (
    <>
      <Badge tone="danger">{pausedAt === null ? "failing" : "paused"}</Badge>{" "}
      <span className="block text-muted">
        since <Time at={since} />
      </span>
    </>
  );
}
