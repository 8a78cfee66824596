import { useSyncExternalStore } from "react";
import { useApi } from "../../api/api.tsx";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { CodeField } from "./code-field.tsx";
import { PasswordField } from "./password-field.tsx";
import { useAskedFactor } from "./use-asked-factor.ts";

/** Shows the question while an action waits for its answer. */
export function ConfirmIdentity() {
  const { confirmation } = useApi();
  const isOpen = useSyncExternalStore(confirmation.subscribe, confirmation.isOpen);
  return isOpen ? <ConfirmIdentityDialog /> : null;
}

function ConfirmIdentityDialog() {
  const { confirmation } = useApi();
  const confirm = useAction(
    (api, body: { password: string; code?: string }, options) => api.control.call("sessionConfirm", { body }, options),
    { onDone: () => confirmation.answer(true) },
  );
  const factor = useAskedFactor(confirm.error);
  return (
    <Dialog title="Confirm your identity" onClose={() => confirmation.answer(false)}>
      <Form
        error={factor.problem}
        onSubmit={(value) => {
          const code = value("code");
          confirm.run({ password: value("password"), ...(code === "" ? {} : { code }) });
        }}
      >
        <p className="text-sm text-muted">
          This needs a recent proof of your identity. If you sign in with a provider, sign out and sign in again.
        </p>
        <PasswordField />
        {factor.is_asked && <CodeField has_focus />}
        <DialogButtons>
          <Button onClick={() => confirmation.answer(false)}>Cancel</Button>
          <Button type="submit" look="primary" busy={confirm.pending}>
            Confirm
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
