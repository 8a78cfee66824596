import type { CreatedWebhook } from "@appdb/contract/routes/control";
import { ShownOnceDialog } from "../../ui/shown-once-dialog.tsx";

interface SigningSecretDialogProps {
  readonly webhook: CreatedWebhook;
  readonly onClose: () => void;
}

/** Shows the secret for checking signatures, once. */
export function SigningSecretDialog({ webhook, onClose }: SigningSecretDialogProps) {
  return (
    <ShownOnceDialog
      title="Webhook"
      warning="The signing secret is shown only once"
      label="Signing secret"
      what="the signing secret"
      text={webhook.signing_secret}
      onClose={onClose}
    >
      <p>Store it where {webhook.url} can read it, and check the signature of every delivery.</p>
    </ShownOnceDialog>
  );
}
