import type { HostedService } from "@appdb/contract/routes/control-services";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { Time } from "../../ui/time.tsx";
import type { CallKeyState } from "./use-call-key.ts";

interface CallKeyFieldProps {
  readonly service: HostedService;
  readonly state: CallKeyState;
  /** Why the gateway refused it. */
  readonly problem: string | undefined;
}

/** The key of the call, pasted or created here. */
export function CallKeyField({ service, state: { key, make, set }, problem }: CallKeyFieldProps) {
  if (key.created !== null) return <MadeKey created={key.created} problem={problem} onForget={() => set("")} />;
  return (
    <div className="grid gap-2.5">
      <div className="grid items-start gap-2.5 sm:grid-cols-[minmax(0,1fr)_auto]">
        <Field
          label="API key"
          // not a password field, which browsers would offer to save
          className="font-mono [-webkit-text-security:disc]"
          value={key.text}
          onChange={(event) => set(event.target.value.trim())}
          placeholder="sk_..."
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          problem={problem}
          help={
            <>
              One of the{" "}
              <TextLink to="/orgs/$org/keys" params={{ org: service.organization }}>
                API keys
              </TextLink>
              , or one for this service only. It stays on this page.
            </>
          }
        />
        <Button className="sm:mt-7" busy={make.pending} onClick={() => make.run(undefined)}>
          Create a key for one hour
        </Button>
      </div>
      {make.error && <ProblemAlert error={make.error} />}
    </div>
  );
}

interface MadeKeyProps {
  readonly created: NonNullable<CallKeyState["key"]["created"]>;
  readonly problem: string | undefined;
  readonly onForget: () => void;
}

function MadeKey({ created: { expires_at: expiresAt, name }, problem, onForget }: MadeKeyProps) {
  return (
    <div className="grid gap-1.5" role="status">
      <p className="text-sm font-medium">API key</p>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm">
        <code className="break-all">{name}</code>
        <span className="text-muted">
          may call only this service{expiresAt !== null && ", until "}
          {expiresAt !== null && <Time at={expiresAt} to="minute" />}; its text stays on this page
        </span>
        <Button small onClick={onForget}>
          Use another key
        </Button>
      </p>
      {problem && <p className="text-sm text-danger">{problem}</p>}
    </div>
  );
}
