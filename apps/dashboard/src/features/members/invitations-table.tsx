import type { Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

export function InvitationsTable({ org }: { readonly org: Org }) {
  const invitations = useList(KEYS.invitations(org.name), (api, query, options) =>
    api.control.call("invitationList", { params: { org: org.name }, query }, options),
  );
  const withdraw = useAction(
    (api, id: string, options) => api.control.call("invitationRevoke", { params: { org: org.name, id } }, options),
    { changes: [KEYS.invitations(org.name)] },
  );
  return (
    <>
      {withdraw.error && <ProblemAlert error={withdraw.error} />}
      <ListTable
        caption="Open invitations"
        list={invitations}
        keyOf={(invitation) => invitation.id}
        columns={[
          { title: "E-mail address", names_row: true, cell: (invitation) => invitation.email },
          { title: "Role", cell: (invitation) => <Badge>{invitation.role}</Badge> },
          { title: "Invited by", cell: (invitation) => invitation.invited_by },
          { title: "Expires", cell: (invitation) => <Time at={invitation.expires_at} to="day" /> },
          {
            title: "",
            cell: (invitation) => (
              <RowButtons>
                <Button small look="quiet" busy={withdraw.pending} onClick={() => withdraw.run(invitation.id)}>
                  Withdraw<span className="sr-only"> the invitation of {invitation.email}</span>
                </Button>
              </RowButtons>
            ),
          },
        ]}
        empty={<Empty title="No open invitation" />}
      />
    </>
  );
}
