import type { Database } from "@appdb/contract/routes/control-databases";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { useChange } from "./use-change.ts";

/** Requires the name, because this action deletes rows. */
export function DeleteDatabaseDialog({
  database,
  onClose,
}: {
  readonly database: Database;
  readonly onClose: () => void;
}) {
  const { name, organization, uri } = database;
  const [typed, setTyped] = useState("");
  const [now, setNow] = useState(false);
  const navigate = useNavigate();
  const checkbox = useId();
  const remove = useChange(
    database,
    (api, atOnce: boolean, options) =>
      api.control.call(
        "databaseDelete",
        { params: { org: organization, db: name }, query: { now: atOnce ? "1" : "0" } },
        options,
      ),
    () => void navigate({ to: "/orgs/$org", params: { org: organization } }),
  );
  return (
    <Dialog title={`Delete the database ${name}?`} onClose={onClose}>
      <Form
        error={remove.error}
        onSubmit={() => {
          if (typed === name) remove.run(now);
        }}
      >
        <p className="text-sm text-muted">
          {now
            ? "Its pod ends, and its tables, files and secrets are removed at once. This cannot be undone."
            : "Its pod ends at once. Its tables, files and secrets are kept for some days, during which you can undelete it. Then they are removed."}
        </p>
        <Field
          label={`Type ${name} to confirm`}
          name="typed"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
        <div className="flex gap-2.5 text-sm">
          <input
            id={checkbox}
            type="checkbox"
            checked={now}
            onChange={(event) => setNow(event.target.checked)}
            className="mt-1 size-4 accent-danger"
          />
          <label htmlFor={checkbox}>Remove everything at once</label>
        </div>
        <DialogButtons command={`cli db delete ${uri}${now ? " --now" : ""}`}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" busy={remove.pending} disabled={typed !== name}>
            Delete database
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
