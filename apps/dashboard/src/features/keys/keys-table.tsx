import type { CreatedKey, Key, Org } from "@appdb/contract/routes/control";
import { useRouteContext } from "@tanstack/react-router";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useList } from "../../api/use-list.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { may } from "../organizations/use-org.ts";
import { DeleteKeyDialog, RotateKeyDialog } from "./key-dialogs.tsx";

interface KeysTableProps {
  readonly org: Org;
  readonly onRotated: (key: CreatedKey) => void;
}

/** The organization's keys. Their owners and people with the permission can rotate and delete them. */
export function KeysTable({ org, onRotated }: KeysTableProps) {
  const { me } = useRouteContext({ from: "/signed-in" });
  const [deleting, setDeleting] = useState<Key | undefined>(undefined);
  const [rotating, setRotating] = useState<Key | undefined>(undefined);
  const keys = useList(KEYS.keys(org.name), (api, query, options) =>
    api.control.call("keyList", { params: { org: org.name }, query }, options),
  );
  const changes = (key: Key) => may(org, "key.delete") || (key.created_by !== null && key.created_by === me.email);
  return (
    <>
      <ListTable
        caption="API keys"
        list={keys}
        keyOf={(key) => key.id}
        columns={[
          {
            title: "Name",
            names_row: true,
            cell: (key) => (
              <>
                {key.name}
                <span className="block font-normal text-muted">{key.created_by ?? "creator was removed"}</span>
              </>
            ),
          },
          { title: "Permissions", cell: (key) => <KeyGrants grants={key.grants} /> },
          { title: "Last used", cell: (key) => <Time at={key.last_used_at} to="day" /> },
          { title: "Expires", cell: (key) => <Time at={key.expires_at} to="day" /> },
          {
            title: "",
            cell: (key) =>
              changes(key) && (
                <RowButtons>
                  <Button small look="quiet" onClick={() => setRotating(key)}>
                    Rotate<span className="sr-only"> {key.name}</span>
                  </Button>
                  <Button small look="quiet" onClick={() => setDeleting(key)}>
                    Delete<span className="sr-only"> {key.name}</span>
                  </Button>
                </RowButtons>
              ),
          },
        ]}
        empty={
          <Empty title="No API key yet">
            Programs need a key to call a service, or to run the CLI without a person.
          </Empty>
        }
      />
      {deleting && <DeleteKeyDialog org={org} apiKey={deleting} onClose={() => setDeleting(undefined)} />}
      {rotating && (
        <RotateKeyDialog
          org={org}
          apiKey={rotating}
          onClose={() => setRotating(undefined)}
          onRotated={(created) => {
            setRotating(undefined);
            onRotated(created);
          }}
        />
      )}
    </>
  );
}

function KeyGrants({ grants }: { readonly grants: readonly string[] }) {
  if (grants.length === 0) return <Badge>everything that its creator can do</Badge>;
  return (
    <ul className="grid gap-0.5">
      {grants.map((grant) => (
        <li key={grant}>
          <code className="text-xs break-words">{grant}</code>
        </li>
      ))}
    </ul>
  );
}
