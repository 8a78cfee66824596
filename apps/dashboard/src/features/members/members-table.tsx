import { ROLES, type Role } from "@appdb/contract/permissions";
import type { Member, Org } from "@appdb/contract/routes/control";
import { useNavigate, useRouteContext } from "@tanstack/react-router";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { may } from "../organizations/use-org.ts";
import { keysThatStay } from "./keys-that-stay.ts";

/** The members. With the permission, roles can be changed and members removed; everyone may leave. */
export function MembersTable({ org }: { readonly org: Org }) {
  const { me } = useRouteContext({ from: "/signed-in" });
  const [leaving, setLeaving] = useState<Member | undefined>(undefined);
  const changes = may(org, "member.change");
  const members = useList(KEYS.members(org.name), (api, query, options) =>
    api.control.call("memberList", { params: { org: org.name }, query }, options),
  );
  const update = useAction(
    (api, { id, role }: { id: string; role: Role }, options) =>
      api.control.call("memberUpdate", { params: { org: org.name, id }, body: { role } }, options),
    { changes: [KEYS.org(org.name)] },
  );
  return (
    <>
      {update.error && <ProblemAlert error={update.error} />}
      <ListTable
        caption="Members"
        list={members}
        keyOf={(member) => member.id}
        columns={[
          {
            title: "Name",
            names_row: true,
            cell: (member) => (
              <>
                {member.name} {member.user_id === me.user_id && <Badge tone="accent">you</Badge>}
                <span className="block font-normal text-muted">{member.email}</span>
              </>
            ),
          },
          {
            title: "Role",
            cell: (member) =>
              changes ? (
                <select
                  aria-label={`Role of ${member.name}`}
                  className="h-8 rounded-md border border-field bg-surface px-2"
                  value={member.role}
                  onChange={(event) => {
                    const role = ROLES.find((known) => known === event.target.value);
                    if (role !== undefined) update.run({ id: member.id, role });
                  }}
                >
                  {ROLES.map((role) => (
                    <option key={role}>{role}</option>
                  ))}
                </select>
              ) : (
                <Badge>{member.role}</Badge>
              ),
          },
          ...(org.role === "owner"
            ? [
                {
                  title: "Second factor",
                  cell: (member: Member) => (member.second_factor ? <Badge tone="good">on</Badge> : "off"),
                },
              ]
            : []),
          { title: "Member since", cell: (member) => <Time at={member.created_at} to="day" /> },
          {
            title: "",
            cell: (member) => {
              const own = member.user_id === me.user_id;
              if (!own && !changes) return null;
              return (
                <RowButtons>
                  <Button small look="quiet" onClick={() => setLeaving(member)}>
                    {own ? "Leave" : "Remove"}
                    {!own && <span className="sr-only"> {member.name}</span>}
                  </Button>
                </RowButtons>
              );
            },
          },
        ]}
        empty={<Empty title="No members" />}
      />
      {leaving && (
        <RemoveDialog
          org={org}
          member={leaving}
          isOwn={leaving.user_id === me.user_id}
          onClose={() => setLeaving(undefined)}
        />
      )}
    </>
  );
}

interface RemoveDialogProps {
  readonly org: Org;
  readonly member: Member;
  readonly isOwn: boolean;
  readonly onClose: () => void;
}

function RemoveDialog({ org, member, isOwn, onClose }: RemoveDialogProps) {
  const navigate = useNavigate();
  const keys = useList(KEYS.keys(org.name), (api, query, options) =>
    api.control.call("keyList", { params: { org: org.name }, query }, options),
  );
  const staying = keysThatStay(keys.items ?? [], member.email);
  const remove = useAction(
    (api, id: string, options) => api.control.call("memberRemove", { params: { org: org.name, id } }, options),
    {
      changes: isOwn ? [] : [KEYS.members(org.name), KEYS.keys(org.name)],
      onDone: () => (isOwn ? void navigate({ to: "/" }) : onClose()),
    },
  );
  return (
    <ConfirmDialog
      title={isOwn ? `Leave ${org.name}?` : `Remove ${member.name} from ${org.name}?`}
      verb={isOwn ? "Leave" : "Remove"}
      action={remove}
      onConfirm={() => remove.run(member.id)}
      onClose={onClose}
    >
      {isOwn
        ? "You lose access at once, and API keys that act as you end."
        : `${member.email} loses access at once, and API keys that act as them end.`}{" "}
      A new invitation restores access, but not the keys.
      {staying.length > 0 && (
        <p className="mt-2">
          API keys with grants stay valid: {staying.join(", ")}. Delete those that no one else needs (API keys).
        </p>
      )}
    </ConfirmDialog>
  );
}
