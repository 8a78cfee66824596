import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { describeProgram } from "./describe-program.ts";

export function SessionsTable() {
  const sessions = useList(KEYS.sessions, (api, query, options) => api.control.call("sessionList", { query }, options));
  const end = useAction((api, id: string, options) => api.control.call("sessionRevoke", { params: { id } }, options), {
    changes: [KEYS.sessions],
  });
  return (
    <>
      {end.error && <ProblemAlert error={end.error} />}
      <ListTable
        caption="Sessions"
        list={sessions}
        keyOf={(session) => session.id}
        columns={[
          {
            title: "Where",
            names_row: true,
            cell: (session) => (
              <>
                {session.client === "cli" ? "Terminal" : "Browser"}{" "}
                {session.current && <Badge tone="accent">this one</Badge>}
                <span className="block max-w-64 truncate font-normal text-muted">
                  {describeProgram(session.user_agent)}
                </span>
              </>
            ),
          },
          { title: "Address", cell: (session) => <code>{session.ip_address ?? "unknown"}</code> },
          { title: "Last used", cell: (session) => <Time at={session.last_used_at} /> },
          { title: "Ends", cell: (session) => <Time at={session.expires_at} to="day" /> },
          {
            title: "",
            cell: (session) =>
              !session.current && (
                <RowButtons>
                  <Button small look="quiet" busy={end.pending} onClick={() => end.run(session.id)}>
                    End<span className="sr-only"> the session from {session.ip_address ?? "an unknown address"}</span>
                  </Button>
                </RowButtons>
              ),
          },
        ]}
        empty={<Empty title="No sessions" />}
      />
    </>
  );
}
