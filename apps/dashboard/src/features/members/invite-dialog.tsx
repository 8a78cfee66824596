import { ROLES, type Role } from "@appdb/contract/permissions";
import type { CreatedInvitation, Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";

interface InviteDialogProps {
  readonly org: Org;
  readonly onClose: () => void;
  readonly onCreated: (invitation: CreatedInvitation) => void;
}

export function InviteDialog({ org, onClose, onCreated }: InviteDialogProps) {
  const invite = useAction(
    (api, body: { email: string; role: Role }, options) =>
      api.control.call("invitationCreate", { params: { org: org.name }, body }, options),
    { changes: [KEYS.invitations(org.name)], onDone: onCreated },
  );
  return (
    <Dialog title={`Invite to ${org.name}`} onClose={onClose}>
      <Form
        error={invite.error}
        onSubmit={(value) => {
          const role = ROLES.find((known) => known === value("role")) ?? "member";
          invite.run({ email: value("email"), role });
        }}
      >
        <Field
          label="E-mail address"
          name="email"
          type="email"
          autoComplete="off"
          required
          problem={fieldProblem(invite.error, "/email")}
          help="The invitation is valid for this address only."
        />
        <Select label="Role" name="role" defaultValue="member">
          {ROLES.toReversed().map((role) => (
            <option key={role}>{role}</option>
          ))}
        </Select>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={invite.pending}>
            Invite
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
