import type { CreatedKey } from "@appdb/contract/routes/control";
import { useState } from "react";
import { CreateKeyDialog } from "../features/keys/create-key-dialog.tsx";
import { KeySecretDialog } from "../features/keys/key-secret-dialog.tsx";
import { KeysTable } from "../features/keys/keys-table.tsx";
import { useOrg } from "../features/organizations/use-org.ts";
import { Button } from "../ui/button.tsx";
import { Command } from "../ui/command.tsx";
import { PlusIcon } from "../ui/icons.tsx";
import { Page } from "../ui/page.tsx";

export function KeysPage() {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const [shown, setShown] = useState<CreatedKey | undefined>(undefined);
  return (
    <Page
      title="API keys"
      lead="For CI, background jobs and backends. Never put a key into browser code: call your own backend instead."
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          <PlusIcon />
          Create key
        </Button>
      }
    >
      <KeysTable org={org} onRotated={setShown} />
      <p>
        <Command text={`cli key list -l --org ${org.name}`} />
      </p>
      {creating && (
        <CreateKeyDialog
          org={org}
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false);
            setShown(key);
          }}
        />
      )}
      {shown && <KeySecretDialog created={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}
