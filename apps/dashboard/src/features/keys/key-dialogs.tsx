import type { CreatedKey, Key, Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Select } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { OVERLAPS } from "./durations.ts";

interface KeyDialogProps {
  readonly org: Org;
  readonly apiKey: Key;
  readonly onClose: () => void;
}

export function DeleteKeyDialog({ org, apiKey, onClose }: KeyDialogProps) {
  const remove = useAction(
    (api, name: string, options) => api.control.call("keyDelete", { params: { org: org.name, name } }, options),
    { changes: [KEYS.keys(org.name)], onDone: onClose },
  );
  return (
    <ConfirmDialog
      title={`Delete the API key ${apiKey.name}?`}
      verb="Delete key"
      action={remove}
      onConfirm={() => remove.run(apiKey.name)}
      onClose={onClose}
    >
      Programs that use it are refused from then on. This cannot be undone.
    </ConfirmDialog>
  );
}

interface RotateKeyDialogProps extends KeyDialogProps {
  readonly onRotated: (created: CreatedKey) => void;
}

export function RotateKeyDialog({ org, apiKey, onClose, onRotated }: RotateKeyDialogProps) {
  const rotate = useAction(
    (api, overlap_s: number, options) =>
      api.control.call("keyRotate", { params: { org: org.name, name: apiKey.name }, body: { overlap_s } }, options),
    { changes: [KEYS.keys(org.name)], onDone: onRotated },
  );
  return (
    <Dialog title={`Rotate the API key ${apiKey.name}`} onClose={onClose}>
      <Form error={rotate.error} onSubmit={(value) => rotate.run(Number(value("overlap_s")))}>
        <p className="text-muted">It gets a new secret and keeps its name, its grants and its expiry.</p>
        <Select
          label="The present secret stays good for"
          name="overlap_s"
          defaultValue={OVERLAPS[1].seconds}
          help="Long enough to put the new one into every program that uses it."
        >
          {OVERLAPS.map((overlap) => (
            <option key={overlap.seconds} value={overlap.seconds}>
              {overlap.title}
            </option>
          ))}
        </Select>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={rotate.pending}>
            Rotate key
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
