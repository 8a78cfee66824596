import type { CreatedKey, Org } from "@appdb/contract/routes/control";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";
import { Radio, RadioGroup } from "../../ui/radio.tsx";
import { EXPIRIES } from "./durations.ts";
import { type GrantDraft, grantProblem, grantText, isComplete } from "./grant-draft.ts";
import { GrantsFields, newGrant } from "./grants-fields.tsx";

interface CreateKeyDialogProps {
  readonly org: Org;
  readonly onClose: () => void;
  readonly onCreated: (key: CreatedKey) => void;
}

interface KeyInput {
  readonly name: string;
  readonly grants: string[];
  readonly expires_in_s: number | null;
}

export function CreateKeyDialog({ org, onClose, onCreated }: CreateKeyDialogProps) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState<(typeof EXPIRIES)[number]>(EXPIRIES[2]);
  const [limited, setLimited] = useState(false);
  const [grants, setGrants] = useState<readonly GrantDraft[]>(() => [newGrant([], "main")]);
  const create = useAction(
    (api, body: KeyInput, options) => api.control.call("keyCreate", { params: { org: org.name }, body }, options),
    { changes: [KEYS.keys(org.name)], onDone: onCreated },
  );
  const isValid = !limited || grants.every((grant) => isComplete(grant) && grantProblem(org.name, grant) === undefined);
  const granted = limited && isValid ? grants.map((grant) => grantText(org.name, grant)) : [];
  const flags = [...granted.map((grant) => ` --grant ${grant}`), expiry.flag, ` --org ${org.name}`].join("");
  return (
    <Dialog title="Create API key" onClose={onClose}>
      <Form
        error={create.error}
        onSubmit={() => {
          if (isValid) create.run({ name, grants: granted, expires_in_s: expiry.seconds });
        }}
      >
        <Field
          label="Name"
          name="name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="ci"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          problem={fieldProblem(create.error, "/name")}
          help="Names its user. The list shows the name, but not the secret."
        />
        <RadioGroup title="Permissions">
          <Radio
            name="limited"
            checked={!limited}
            onChoose={() => setLimited(false)}
            title="Everything that you can do"
            help="It acts as you, and ends when you leave the organization."
          />
          <Radio
            name="limited"
            checked={limited}
            onChoose={() => setLimited(true)}
            title="Only specific grants"
            help="For programs that call services. It cannot do anything else."
          />
        </RadioGroup>
        {limited && <GrantsFields org={org} grants={grants} onChange={setGrants} />}
        <Select
          label="Expires"
          value={expiry.title}
          onChange={(event) => setExpiry(EXPIRIES.find(({ title }) => title === event.target.value) ?? EXPIRIES[2])}
        >
          {EXPIRIES.map(({ title }) => (
            <option key={title}>{title}</option>
          ))}
        </Select>
        <DialogButtons command={`cli key create ${name || "NAME"}${flags}`}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.pending} disabled={!isValid}>
            Create key
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
