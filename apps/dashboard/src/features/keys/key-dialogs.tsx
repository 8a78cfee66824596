import type { CreatedKey, Key, Org } from "@appdb/contract/routes/control";
import { useState } from "react";
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
      command={`cli key delete ${apiKey.name} --org ${org.name}`}
    >
      Programs that use it will be refused. This cannot be undone.
    </ConfirmDialog>
  );
}

interface RotateKeyDialogProps extends KeyDialogProps {
  readonly onRotated: (created: CreatedKey) => void;
}

export function RotateKeyDialog({ org, apiKey, onClose, onRotated }: RotateKeyDialogProps) {
  const rotate = useAction(
    (api, overlapS: number, options) =>
      api.control.call(
        "keyRotate",
        { params: { org: org.name, name: apiKey.name }, body: { overlap_s: overlapS } },
        options,
      ),
    { changes: [KEYS.keys(org.name)], onDone: onRotated },
  );
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number]>(OVERLAPS[1]);
  return (
    <Dialog title={`Rotate the API key ${apiKey.name}`} onClose={onClose}>
      <Form error={rotate.error} onSubmit={() => rotate.run(overlap.seconds)}>
        <p className="text-muted">It gets a new secret and keeps its name, its grants and its expiry.</p>
        <Select
          label="The current secret stays valid for"
          value={overlap.seconds}
          onChange={(event) =>
            setOverlap(OVERLAPS.find(({ seconds }) => String(seconds) === event.target.value) ?? OVERLAPS[1])
          }
          help="Choose enough time to update every program that uses it."
        >
          {OVERLAPS.map(({ seconds, title }) => (
            <option key={seconds} value={seconds}>
              {title}
            </option>
          ))}
        </Select>
        <DialogButtons command={`cli key rotate ${apiKey.name}${overlap.flag} --org ${org.name}`}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={rotate.pending}>
            Rotate key
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
