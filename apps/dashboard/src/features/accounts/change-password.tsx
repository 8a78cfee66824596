import { useId, useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Alert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";
import { PasswordField } from "./password-field.tsx";

interface Changed {
  readonly password: string;
  readonly new_password: string;
  readonly end_other_sessions: boolean;
}

/** The button and dialog to change the password. */
export function ChangePassword() {
  const [isOpen, setOpen] = useState(false);
  const [isDone, setDone] = useState(false);
  return (
    <div className="grid justify-items-start gap-3">
      {isDone && <Alert kind="good" title="The new password is set" />}
      <Button onClick={() => setOpen(true)}>Change password</Button>
      {isOpen && <ChangePasswordDialog onClose={() => setOpen(false)} onDone={() => setDone(true)} />}
    </div>
  );
}

function ChangePasswordDialog({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const checkbox = useId();
  const change = useAction((api, body: Changed, options) => api.control.call("passwordChange", { body }, options), {
    changes: [KEYS.sessions, KEYS.account],
    onDone: () => {
      onDone();
      onClose();
    },
  });
  return (
    <Dialog title="Change password" onClose={onClose}>
      <Form
        error={change.error}
        onSubmit={(value) =>
          change.run({
            password: value("password"),
            new_password: value("new_password"),
            end_other_sessions: value("end_other_sessions") === "on",
          })
        }
      >
        <PasswordField label="Current password" />
        <PasswordField
          label="New password"
          name="new_password"
          isNew
          problem={fieldProblem(change.error, "/new_password")}
        />
        <div className="flex gap-2.5 text-sm">
          <input
            id={checkbox}
            name="end_other_sessions"
            type="checkbox"
            defaultChecked
            className="mt-1 size-4 accent-accent"
          />
          <label htmlFor={checkbox}>End my other sessions</label>
        </div>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={change.pending}>
            Change password
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
