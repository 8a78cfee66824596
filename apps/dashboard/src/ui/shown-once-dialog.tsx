import type { ReactNode } from "react";
import { Alert } from "./alert.tsx";
import { Button } from "./button.tsx";
import { CopyField } from "./copy-button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";

interface ShownOnceDialogProps {
  readonly title: string;
  readonly warning: string;
  /** Where to store it. */
  readonly children: ReactNode;
  readonly label: string;
  /** Completes the label "Copy ...". */
  readonly what: string;
  readonly text: string;
  readonly onClose: () => void;
}

/** Shows a secret that is never shown again. Only its button closes it. */
export function ShownOnceDialog({ title, warning, children, label, what, text, onClose }: ShownOnceDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} dismissable={false}>
      <Alert kind="warn" title={warning}>
        {children}
      </Alert>
      <CopyField label={label} what={what} text={text} />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          I have stored it
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
