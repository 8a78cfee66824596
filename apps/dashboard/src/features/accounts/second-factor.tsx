import type { AccountSecurity } from "@appdb/contract/routes/control-account";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { Time } from "../../ui/time.tsx";
import { CodeField } from "./code-field.tsx";
import { PasswordField } from "./password-field.tsx";
import { SetUpFactorDialog } from "./set-up-factor-dialog.tsx";

/** The state of the second factor, with the buttons to set it up and to remove it. */
export function SecondFactor({ account }: { readonly account: AccountSecurity }) {
  const [open, setOpen] = useState<"set up" | "remove" | undefined>(undefined);
  const close = () => setOpen(undefined);
  return (
    <div className="grid justify-items-start gap-3">
      {account.second_factor_since === null ? (
        <>
          <p className="text-sm text-muted">
            With a second factor, signing in with a password also requires a code from an authenticator app.
          </p>
          <Button onClick={() => setOpen("set up")}>Set up a second factor</Button>
        </>
      ) : (
        <>
          <p className="text-sm">
            <Badge tone="good">on</Badge> since <Time at={account.second_factor_since} to="day" />.{" "}
            {account.recovery_codes} recovery codes are left.
          </p>
          <Button onClick={() => setOpen("remove")}>Remove the second factor</Button>
        </>
      )}
      {open === "set up" && <SetUpFactorDialog onClose={close} />}
      {open === "remove" && <RemoveDialog onClose={close} />}
    </div>
  );
}

function RemoveDialog({ onClose }: { readonly onClose: () => void }) {
  const remove = useAction(
    (api, body: { password: string; code: string }, options) => api.control.call("factorDisable", { body }, options),
    { changes: [KEYS.account], onDone: onClose },
  );
  return (
    <Dialog title="Remove the second factor?" onClose={onClose}>
      <Form error={remove.error} onSubmit={(value) => remove.run({ password: value("password"), code: value("code") })}>
        <p className="text-sm text-muted">
          After that, your password alone signs you in, and the recovery codes stop working.
        </p>
        <PasswordField />
        <CodeField />
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" busy={remove.pending}>
            Remove
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
