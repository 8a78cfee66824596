import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { Org } from "@appdb/contract/routes/control";
import { useState } from "react";
import { Alert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { nameProblem } from "../organizations/name-problem.ts";

/** Databases are created from a project's folder, which a page cannot access, so this dialog shows the command. */
export function CreateDatabaseDialog({ org, onClose }: { readonly org: Org; readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const problem = nameProblem("database", name);
  const uri = databaseUriOf(org.name, name === "" || problem !== undefined ? "NAME" : name);
  const isFull = org.databases >= org.database_quota;
  return (
    <Dialog title="Create a database" onClose={onClose}>
      {isFull && (
        <Alert kind="warn" title={`${org.name} has ${org.databases} of ${org.database_quota} databases`}>
          <p>Delete one first, or ask the operator of this server for more.</p>
        </Alert>
      )}
      <p className="text-sm text-muted">
        A database runs the files of a project, so create it from the project's folder. The command shows its plan and
        asks for confirmation. Then it uploads the files, builds the image if the project has a lock file, and returns
        when the database is AVAILABLE.
      </p>
      <Field
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        problem={problem}
        placeholder="staging"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <CopyField label="Run this in the project's folder" what="the command" text={`cli db update ${uri}`} />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
