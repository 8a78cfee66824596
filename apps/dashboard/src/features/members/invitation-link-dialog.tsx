import type { CreatedInvitation } from "@appdb/contract/routes/control";
import { Alert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";

interface InvitationLinkDialogProps {
  readonly invitation: CreatedInvitation;
  readonly onClose: () => void;
}

/** Shows the link, once. */
export function InvitationLinkDialog({ invitation, onClose }: InvitationLinkDialogProps) {
  return (
    <Dialog title={`Invitation for ${invitation.email}`} onClose={onClose} dismissable={false}>
      <Alert
        kind={invitation.mailed ? "good" : "warn"}
        title={invitation.mailed ? "It was sent by mail" : "It was not sent by mail"}
      >
        <p>
          {invitation.mailed ? "You may also share the link yourself." : "Share the link yourself."} It is shown only
          once, and expires <Time at={invitation.expires_at} />.
        </p>
      </Alert>
      <CopyField label="Link" what="the link" text={invitation.url} />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
