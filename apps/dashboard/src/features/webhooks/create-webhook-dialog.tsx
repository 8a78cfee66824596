import type { CreatedWebhook, Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";

interface CreateWebhookDialogProps {
  readonly org: Org;
  readonly onClose: () => void;
  readonly onCreated: (webhook: CreatedWebhook) => void;
}

export function CreateWebhookDialog({ org, onClose, onCreated }: CreateWebhookDialogProps) {
  const create = useAction(
    (api, body: { url: string; actions: string[] }, options) =>
      api.control.call("webhookCreate", { params: { org: org.name }, body }, options),
    { changes: [KEYS.webhooks(org.name)], onDone: onCreated },
  );
  return (
    <Dialog title="Create webhook" onClose={onClose}>
      <Form
        error={create.error}
        onSubmit={(value) => create.run({ url: value("url").trim(), actions: splitActions(value("actions")) })}
      >
        <Field
          label="Address"
          name="url"
          type="url"
          placeholder="https://example.com/hooks/appdb"
          autoComplete="off"
          required
          problem={fieldProblem(create.error, "/url")}
        />
        <Field
          label="Events"
          name="actions"
          placeholder="key.*, secret.set"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          problem={fieldProblem(create.error, "/actions")}
          help="Actions as in the audit log, or key.* for every action of keys. Empty for all actions."
        />
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.pending}>
            Create webhook
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}

function splitActions(text: string): string[] {
  return text.split(/[\s,]+/).filter((action) => action !== "");
}
