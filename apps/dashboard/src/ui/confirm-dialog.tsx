import type { ReactNode } from "react";
import { ProblemAlert } from "./alert.tsx";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";

interface ConfirmDialogProps {
  readonly title: string;
  /** What the button says and does: "Delete key". */
  readonly verb: string;
  readonly action: { readonly pending: boolean; readonly error: Error | null };
  /** Whether something is lost by it. */
  readonly is_harmless?: boolean;
  /** What does the same in a terminal. */
  readonly command?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What it means. */
  readonly children: ReactNode;
}

/** Asks before something that cannot be undone, or that others notice. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, verb, action, is_harmless: isHarmless = false, command, onConfirm, onClose, children } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      {action.error && <ProblemAlert error={action.error} />}
      <div className="text-muted">{children}</div>
      <DialogButtons command={command}>
        <Button data-has-focus onClick={onClose}>
          Cancel
        </Button>
        <Button look={isHarmless ? "primary" : "danger"} busy={action.pending} onClick={onConfirm}>
          {verb}
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
