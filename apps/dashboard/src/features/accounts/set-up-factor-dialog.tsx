import type { BegunFactor } from "@appdb/contract/routes/control-account";
import { QRCodeSVG } from "qrcode.react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { ShownOnceDialog } from "../../ui/shown-once-dialog.tsx";
import { CodeField } from "./code-field.tsx";
import { PasswordField } from "./password-field.tsx";

/** Sets up a second factor in three steps: the password, a first code, the recovery codes. */
export function SetUpFactorDialog({ onClose }: { readonly onClose: () => void }) {
  const begin = useAction((api, password: string, options) =>
    api.control.call("factorBegin", { body: { password } }, options),
  );
  if (begin.result !== undefined) return <FirstCode startedFactor={begin.result} onClose={onClose} />;
  return (
    <Dialog title="Set up a second factor" onClose={onClose}>
      <Form error={begin.error} onSubmit={(value) => begin.run(value("password"))}>
        <p className="text-sm text-muted">You need an authenticator app on your phone or computer.</p>
        <PasswordField />
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={begin.pending}>
            Continue
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}

function FirstCode({ startedFactor, onClose }: { readonly startedFactor: BegunFactor; readonly onClose: () => void }) {
  const enable = useAction(
    (api, code: string, options) => api.control.call("factorEnable", { body: { code } }, options),
    { changes: [KEYS.account] },
  );
  if (enable.result !== undefined) {
    return (
      <ShownOnceDialog
        title="Recovery codes"
        warning="Store these codes now: they are not shown again."
        label="Recovery codes"
        what="the recovery codes"
        text={enable.result.recovery_codes.join(" ")}
        onClose={onClose}
      >
        <p>Each code replaces a code of the app once, if you lose your device.</p>
      </ShownOnceDialog>
    );
  }
  return (
    <Dialog title="Set up a second factor" onClose={onClose}>
      <p className="text-sm text-muted">Scan this picture with your authenticator app, or enter the secret.</p>
      {/* cameras need dark on light with a light margin in every theme: the picture includes both */}
      <div className="justify-self-center">
        <QRCodeSVG value={startedFactor.uri} size={208} marginSize={4} title="Secret for the authenticator app" />
      </div>
      <CopyField label="Secret" what="the secret" text={startedFactor.secret} />
      <Form error={enable.error} onSubmit={(value) => enable.run(value("code"))}>
        <CodeField label="Code from the app" app_only />
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={enable.pending}>
            Turn on
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
