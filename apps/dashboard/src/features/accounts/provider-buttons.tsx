import type { ServerInfo } from "@appdb/contract/routes/control";
import { safePath } from "../../api/safe-path.ts";
import { useAction } from "../../api/use-action.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";

interface ProviderButtonsProps {
  readonly providers: ServerInfo["oidc"];
  /** The path to open afterwards. */
  readonly next: string | undefined;
}

/** Buttons to sign in with an OIDC provider. */
export function ProviderButtons({ providers, next }: ProviderButtonsProps) {
  const leave = useAction((api, id: string) => api.auth.providerAddress(id, safePath(next)), {
    onDone: (address) => window.location.assign(address),
  });
  if (providers.length === 0) return null;
  return (
    <>
      <div className="grid gap-2.5">
        {leave.error && <ProblemAlert error={leave.error} />}
        {providers.map((provider) => (
          <Button key={provider.id} busy={leave.pending} onClick={() => leave.run(provider.id)}>
            Continue with {provider.name}
          </Button>
        ))}
      </div>
      <p className="flex items-center gap-3 text-sm text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </p>
    </>
  );
}
