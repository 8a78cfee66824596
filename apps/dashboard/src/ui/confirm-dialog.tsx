import type { ReactNode } from "react";
import { ProblemAlert } from "./alert.tsx";
import { Button } from "./button.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";

interface ConfirmDialogProps {
  readonly title: string;
  /** The button's label: "Delete key". */
  readonly verb: string;
  readonly action: { readonly pending: boolean; readonly error: Error | null };
  /** Whether the action loses nothing. */
  readonly is_harmless?: boolean;
  /** The equivalent CLI command. */
  readonly command?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** The consequences. */
  readonly children: ReactNode;
}

/** Asks for confirmation of an action that cannot be undone or that affects others. */
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
