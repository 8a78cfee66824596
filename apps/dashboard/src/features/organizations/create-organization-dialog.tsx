import { MAX_ORGANIZATION_LENGTH } from "@appdb/contract/names";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { nameProblem } from "./name-problem.ts";

export function CreateOrganizationDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const navigate = useNavigate();
  const create = useAction((api, body: { name: string }, options) => api.control.call("orgCreate", { body }, options), {
    changes: [KEYS.orgs, KEYS.whoami],
    onDone: (org) => void navigate({ to: "/orgs/$org", params: { org: org.name } }),
  });
  const problem = nameProblem("organization", name);
  return (
    <Dialog title="Create organization" onClose={onClose}>
      <Form
        error={create.error}
        onSubmit={() => {
          if (name !== "" && problem === undefined) create.run({ name });
        }}
      >
        <Field
          label="Name"
          name="name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          problem={problem}
          help={`Lower-case letters, digits and hyphens, with a letter or digit at both ends, at most ${MAX_ORGANIZATION_LENGTH} characters. It is part of addresses (cloud://${problem === undefined && name !== "" ? name : "acme"}:main) and cannot be changed.`}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
        <DialogButtons command={`cli org create ${name || "NAME"}`}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.pending} disabled={name === "" || problem !== undefined}>
            Create organization
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
