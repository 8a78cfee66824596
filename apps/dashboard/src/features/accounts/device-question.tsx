import { useQuery } from "@tanstack/react-query";
import { useRouteContext } from "@tanstack/react-router";
import { useApi } from "../../api/api.tsx";
import { useAction } from "../../api/use-action.ts";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/page.tsx";
import { Loading } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { Time } from "../../ui/time.tsx";

type Verdict = "approve" | "deny";

/** The program that asks to sign in, its origin, and the code to compare with the terminal's. */
export function DeviceQuestion({ code }: { readonly code: string }) {
  const api = useApi();
  const { me } = useRouteContext({ from: "/signed-in" });
  const device = useQuery({
    queryKey: ["devices", code],
    queryFn: ({ signal }) => api.control.call("deviceShow", { params: { code } }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const answer = useAction(async (of, verdict: Verdict) => {
    await of.auth.answerDevice(verdict, code);
    return verdict;
  });
  if (device.error) {
    return (
      <>
        <ProblemAlert error={device.error} />
        <p className="text-sm">
          <TextLink to="/device" search={{}}>
            Type another code
          </TextLink>
        </p>
      </>
    );
  }
  if (device.data === undefined) return <Loading />;
  if (answer.result === "approve") {
    return (
      <Alert kind="good" title="The terminal is signed in">
        <p>
          You can close this page and return to the terminal. Its session is listed in your account, where you can end
          it.
        </p>
      </Alert>
    );
  }
  if (answer.result === "deny") {
    return (
      <Alert kind="note" title="The sign-in was denied">
        <p>Nothing was signed in. The terminal is notified.</p>
      </Alert>
    );
  }
  const {
    user_code: userCode,
    client,
    ip_address: ipAddress,
    user_agent: userAgent,
    created_at: createdAt,
    expires_at: expiresAt,
  } = device.data;
  return (
    <div className="grid gap-5 rounded-xl border border-line bg-surface p-6">
      {answer.error && <ProblemAlert error={answer.error} />}
      <div className="grid gap-1 text-center">
        <p className="text-sm text-muted">Does your terminal show this code?</p>
        <p className="font-mono text-3xl font-semibold tracking-widest" data-user-code>
          {userCode}
        </p>
      </div>
      <Facts
        facts={[
          ["Program", <code key="client">{client}</code>],
          ["User agent", userAgent ?? "none"],
          ["Address", <code key="address">{ipAddress ?? "unknown"}</code>],
          ["Requested", <Time key="asked" at={createdAt} />],
          ["Code expires", <Time key="until" at={expiresAt} />],
          ["Signs in as", me.email ?? "you"],
        ]}
      />
      <Alert kind="warn">
        <p>
          Approve only a sign-in that you have just started. The terminal will be able to do everything that you can do.
        </p>
      </Alert>
      <div className="grid grid-cols-2 gap-3">
        <Button busy={answer.pending} onClick={() => answer.run("deny")}>
          Deny
        </Button>
        <Button look="primary" busy={answer.pending} onClick={() => answer.run("approve")}>
          Approve
        </Button>
      </div>
    </div>
  );
}
