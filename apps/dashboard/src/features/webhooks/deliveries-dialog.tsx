import type { Delivery, Org, Webhook } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { may } from "../organizations/use-org.ts";

const TONES = { pending: "accent", delivered: "good", dead: "danger" } as const satisfies Record<
  Delivery["state"],
  "accent" | "good" | "danger"
>;

interface DeliveriesDialogProps {
  readonly org: Org;
  readonly webhook: Webhook;
  readonly onClose: () => void;
}

/** Posted events with their results. Each can be posted again. */
export function DeliveriesDialog({ org, webhook, onClose }: DeliveriesDialogProps) {
  const key = [...KEYS.webhooks(org.name), webhook.id];
  const deliveries = useList(key, (api, query, options) =>
    api.control.call("deliveryList", { params: { org: org.name, id: webhook.id }, query }, options),
  );
  const replay = useAction(
    (api, delivery: string, options) =>
      api.control.call("deliveryReplay", { params: { org: org.name, id: webhook.id, delivery } }, options),
    { changes: [key] },
  );
  return (
    <Dialog title="Deliveries" isWide onClose={onClose}>
      <p className="text-sm break-all text-muted">{webhook.url}</p>
      {replay.error && <ProblemAlert error={replay.error} />}
      <ListTable
        caption="Deliveries"
        list={deliveries}
        keyOf={(delivery) => delivery.id}
        columns={[
          { title: "Event", names_row: true, cell: (delivery) => <code>{delivery.event_id}</code> },
          { title: "State", cell: (delivery) => <Badge tone={TONES[delivery.state]}>{delivery.state}</Badge> },
          { title: "Attempts", cell: (delivery) => delivery.attempts },
          { title: "Answer", cell: (delivery) => delivery.last_error ?? delivery.last_status ?? "none yet" },
          { title: "Since", cell: (delivery) => <Time at={delivery.created_at} /> },
          {
            title: "",
            cell: (delivery) =>
              may(org, "webhook.write") && (
                <RowButtons>
                  <Button small look="quiet" busy={replay.pending} onClick={() => replay.run(delivery.id)}>
                    Post again<span className="sr-only"> event {delivery.event_id}</span>
                  </Button>
                </RowButtons>
              ),
          },
        ]}
        empty={<Empty title="No deliveries yet" />}
      />
      <DialogButtons>
        <Button onClick={onClose}>Close</Button>
      </DialogButtons>
    </Dialog>
  );
}
