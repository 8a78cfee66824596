import type { CreatedWebhook } from "@appdb/contract/routes/control";
import { useState } from "react";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { CreateWebhookDialog } from "../features/webhooks/create-webhook-dialog.tsx";
import { SigningSecretDialog } from "../features/webhooks/signing-secret-dialog.tsx";
import { WebhooksTable } from "../features/webhooks/webhooks-table.tsx";
import { Button } from "../ui/button.tsx";
import { PlusIcon } from "../ui/icons.tsx";
import { Page } from "../ui/page.tsx";

/** Addresses that receive events of the audit log. */
export function WebhooksPage() {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedWebhook | undefined>(undefined);
  return (
    <Page
      title="Webhooks"
      lead="Posts events of the audit log to your addresses as they happen, signed, and retried until they arrive."
      actions={
        may(org, "webhook.write") && (
          <Button look="primary" onClick={() => setCreating(true)}>
            <PlusIcon />
            Create webhook
          </Button>
        )
      }
    >
      <WebhooksTable org={org} />
      {creating && (
        <CreateWebhookDialog
          org={org}
          onClose={() => setCreating(false)}
          onCreated={(webhook) => {
            setCreating(false);
            setCreated(webhook);
          }}
        />
      )}
      {created && <SigningSecretDialog webhook={created} onClose={() => setCreated(undefined)} />}
    </Page>
  );
}
