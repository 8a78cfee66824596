import type { CreatedWebhook } from "@appdb/contract/routes/control";
import { Alert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";

interface SigningSecretDialogProps {
  readonly webhook: CreatedWebhook;
  readonly onClose: () => void;
}

/** What the receiver checks signatures by, this once. */
export function SigningSecretDialog({ webhook, onClose }: SigningSecretDialogProps) {
  return (
    <Dialog title="Webhook" onClose={onClose} dismissable={false}>
      <Alert kind="warn" title="The signing secret is shown this once">
        <p>Store it where {webhook.url} can read it, and check the signature of everything that is posted there.</p>
      </Alert>
      <CopyField label="Signing secret" what="the signing secret" text={webhook.signing_secret} />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          I have stored it
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
