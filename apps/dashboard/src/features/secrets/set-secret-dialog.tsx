import type { Org } from "@appdb/contract/routes/control";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field, TextArea } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";
import { secretScope } from "./secret-scope.ts";

interface SetSecretDialogProps {
  readonly org: Org;
  readonly database: string | undefined;
  /** Set to replace the value of an existing secret. */
  readonly name?: string;
  readonly onClose: () => void;
}

export function SetSecretDialog({ org, database, name, onClose }: SetSecretDialogProps) {
  const [typed, setTyped] = useState("");
  const set = useAction(
    (api, secret: { name: string; value: string }, options) => {
      const body = { value: secret.value };
      return database === undefined
        ? api.control.call("secretSet", { params: { org: org.name, name: secret.name }, body }, options)
        : api.control.call(
            "databaseSecretSet",
            { params: { org: org.name, db: database, name: secret.name }, body },
            options,
          );
    },
    { changes: [KEYS.secrets(org.name)], onDone: onClose },
  );
  const owner = database === undefined ? `the organization ${org.name}` : `the database ${database}`;
  return (
    <Dialog title={name === undefined ? `Set a secret of ${owner}` : `Set ${name} of ${owner}`} onClose={onClose}>
      <Form error={set.error} onSubmit={(value) => set.run({ name: name ?? typed, value: value("value") })}>
        {name === undefined && (
          <Field
            label="Name"
            name="name"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            placeholder="OPENAI_API_KEY"
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            className="font-mono text-sm"
            required
            problem={fieldProblem(set.error, "/name")}
            help="Programs read it from the environment variable of this name."
          />
        )}
        <TextArea
          label="Value"
          name="value"
          rows={4}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          className="font-mono text-sm"
          required
          problem={fieldProblem(set.error, "/value")}
          help="It cannot be read back, not even by you."
        />
        <DialogButtons command={`cli secret set ${secretScope(org.name, database)} ${name ?? (typed || "NAME")}`}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={set.pending}>
            Set secret
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
