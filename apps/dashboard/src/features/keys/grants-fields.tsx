import type { Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useList } from "../../api/use-list.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { PlusIcon } from "../../ui/icons.tsx";
import { asksService, GRANT_KINDS, type GrantDraft, grantProblem, grantText, isComplete } from "./grant-draft.ts";

interface GrantsFieldsProps {
  readonly org: Org;
  readonly grants: readonly GrantDraft[];
  readonly onChange: (grants: readonly GrantDraft[]) => void;
}

/** The grants of a key that does not act as its creator, one row each. */
export function GrantsFields({ org, grants, onChange }: GrantsFieldsProps) {
  const databases = useList(KEYS.databases(org.name), (api, query, options) =>
    api.control.call("databaseList", { params: { org: org.name }, query }, options),
  );
  const names = databases.items?.map((database) => database.name) ?? ["main"];
  const change = (changed: GrantDraft) => onChange(grants.map((grant) => (grant.id === changed.id ? changed : grant)));
  return (
    <div className="grid gap-3">
      {grants.map((grant, index) => (
        <GrantRow
          key={grant.id}
          org={org}
          grant={grant}
          number={index + 1}
          databases={names}
          onChange={change}
          onRemove={grants.length > 1 ? () => onChange(grants.filter((other) => other.id !== grant.id)) : undefined}
        />
      ))}
      <div>
        <Button small onClick={() => onChange([...grants, newGrant(grants, names[0] ?? "main")])}>
          <PlusIcon />
          Add a grant
        </Button>
      </div>
    </div>
  );
}

/** A new row of the form. */
export function newGrant(grants: readonly GrantDraft[], database: string): GrantDraft {
  const id = Math.max(0, ...grants.map((grant) => grant.id)) + 1;
  return { id, kind: "access-services", database, service: "" };
}

interface GrantRowProps {
  readonly org: Org;
  readonly grant: GrantDraft;
  readonly number: number;
  readonly databases: readonly string[];
  readonly onChange: (grant: GrantDraft) => void;
  readonly onRemove: (() => void) | undefined;
}

function GrantRow({ org, grant, number, databases, onChange, onRemove }: GrantRowProps) {
  return (
    <fieldset className="grid gap-3 rounded-md border border-line p-3.5">
      <legend className="px-1 text-sm text-muted">Grant {number}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="May"
          value={grant.kind}
          onChange={(event) => {
            const kind = GRANT_KINDS.find((known) => known.kind === event.target.value)?.kind;
            if (kind !== undefined) onChange({ ...grant, kind });
          }}
        >
          {GRANT_KINDS.map(({ kind, title }) => (
            <option key={kind} value={kind}>
              {title}
            </option>
          ))}
        </Select>
        <Select
          label="Of database"
          value={grant.database}
          onChange={(event) => onChange({ ...grant, database: event.target.value })}
        >
          {databases.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </div>
      {asksService(grant.kind) && (
        <Field
          label="Service"
          value={grant.service}
          onChange={(event) => onChange({ ...grant, service: event.target.value })}
          placeholder="ingest"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          problem={grantProblem(org.name, grant)}
        />
      )}
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-2">
        <code className="text-xs break-all text-muted">{isComplete(grant) ? grantText(org.name, grant) : ""}</code>
        {onRemove && (
          <Button small look="quiet" onClick={onRemove}>
            Remove<span className="sr-only"> grant {number}</span>
          </Button>
        )}
      </div>
    </fieldset>
  );
}
