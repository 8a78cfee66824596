import type { CreatedKey } from "@appdb/contract/routes/control";
import { ShownOnceDialog } from "../../ui/shown-once-dialog.tsx";
import { Time } from "../../ui/time.tsx";

interface KeySecretDialogProps {
  readonly created: CreatedKey;
  readonly onClose: () => void;
}

/** A key's secret, this once. */
export function KeySecretDialog({ created, onClose }: KeySecretDialogProps) {
  return (
    <ShownOnceDialog
      title={`API key ${created.name}`}
      warning="It is shown this once"
      label="Secret"
      what="the secret"
      text={created.api_key}
      onClose={onClose}
    >
      <p>Store it where your other credentials are. Nobody can read it here again, but it can be rotated.</p>
      {created.previous_until !== null && (
        <p>
          The former secret is accepted until <Time at={created.previous_until} />.
        </p>
      )}
    </ShownOnceDialog>
  );
}
