import type { CreatedWebhook } from "@appdb/contract/routes/control";
import { ShownOnceDialog } from "../../ui/shown-once-dialog.tsx";

interface SigningSecretDialogProps {
  readonly webhook: CreatedWebhook;
  readonly onClose: () => void;
}

/** What the receiver checks signatures by, this once. */
export function SigningSecretDialog({ webhook, onClose }: SigningSecretDialogProps) {
  return (
    <ShownOnceDialog
      title="Webhook"
      warning="The signing secret is shown this once"
      label="Signing secret"
      what="the signing secret"
      text={webhook.signing_secret}
      onClose={onClose}
    >
      <p>Store it where {webhook.url} can read it, and check the signature of everything that is posted there.</p>
    </ShownOnceDialog>
  );
}
