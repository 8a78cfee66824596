import type { CreatedKey } from "@appdb/contract/routes/control";
import { ShownOnceDialog } from "../../ui/shown-once-dialog.tsx";
import { Time } from "../../ui/time.tsx";

interface KeySecretDialogProps {
  readonly created: CreatedKey;
  readonly onClose: () => void;
}

/** Shows a key's secret, once. */
export function KeySecretDialog({ created, onClose }: KeySecretDialogProps) {
  return (
    <ShownOnceDialog
      title={`API key ${created.name}`}
      warning="This key is shown only once"
      label="Secret"
      what="the secret"
      text={created.api_key}
      onClose={onClose}
    >
      <p>Store it with your other credentials. It cannot be shown again, but you can rotate it.</p>
      {created.previous_until !== null && (
        <p>
          The previous secret is accepted until <Time at={created.previous_until} />.
        </p>
      )}
    </ShownOnceDialog>
  );
}
