import type { CreatedKey } from "@appdb/contract/routes/control";
import { Alert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";

interface KeySecretDialogProps {
  readonly created: CreatedKey;
  readonly onClose: () => void;
}

/** A key's secret, this once. */
export function KeySecretDialog({ created, onClose }: KeySecretDialogProps) {
  return (
    <Dialog title={`API key ${created.name}`} onClose={onClose} dismissable={false}>
      <Alert kind="warn" title="It is shown this once">
        <p>Store it where your other credentials are. Nobody can read it here again, but it can be rotated.</p>
        {created.previous_until !== null && (
          <p>
            The former secret is accepted until <Time at={created.previous_until} />.
          </p>
        )}
      </Alert>
      <CopyField label="Secret" what="the secret" text={created.api_key} />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          I have stored it
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
