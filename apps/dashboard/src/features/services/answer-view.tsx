import type { HostedService, ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import { Alert } from "../../ui/alert.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { formatBytes } from "../../ui/format.ts";
import { TextLink } from "../../ui/text-link.tsx";
import { formatMs } from "./format-ms.ts";
import { printBody, type Refusal } from "./read-answer.ts";

interface AnswerViewProps {
  readonly service: HostedService;
  readonly answer: ServiceCallAnswer;
  readonly refusal: Refusal | undefined;
}

/** The answer: status, time, body and headers, with a link to its log lines. */
export function AnswerView({ service, answer, refusal }: AnswerViewProps) {
  const { bytes, headers, ms, request_id: requestId, status } = answer;
  const params = { org: service.organization, db: service.database, service: service.name };
  return (
    <section aria-label="Answer" className="grid grid-cols-1 gap-4">
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1.5 text-sm" role="status">
        <Badge tone={toneOf(status)}>
          <span className="sr-only">Status </span>
          {status}
        </Badge>
        <span>{formatMs(ms)}</span>
        <span>{formatBytes(bytes)}</span>
        <span className="min-w-0 break-all text-muted">
          Request{" "}
          <TextLink
            to="/orgs/$org/databases/$db/services/$service"
            params={params}
            search={{ text: requestId }}
            hash="log"
          >
            {requestId}
          </TextLink>
        </span>
      </p>
      {refusal && (
        <Alert kind="problem" title={refusal.detail}>
          {refusal.hint && <p>{refusal.hint}</p>}
        </Alert>
      )}
      <BodyView answer={answer} />
      <details className="text-sm">
        <summary className="w-max rounded font-medium">Headers</summary>
        <dl className="mt-2 grid gap-x-5 gap-y-1 font-mono text-xs sm:grid-cols-[max-content_minmax(0,1fr)]">
          {headers.map(({ name, value }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: names may repeat, and the list never changes
            <div key={at} className="contents">
              <dt className="text-muted">{name}</dt>
              <dd className="break-all">{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}

function toneOf(status: number): Tone {
  if (status < 400) return "good";
  return status < 500 ? "warn" : "danger";
}

function BodyView({ answer }: Pick<AnswerViewProps, "answer">) {
  if (answer.body === null) return <p className="text-sm text-muted">The body is not text, so it is not shown.</p>;
  if (answer.body === "") return <p className="text-sm text-muted">There is no body.</p>;
  const title = answer.is_cut ? "Start of the body" : "Body";
  return <CodeBlock title={title} text={printBody(answer)} what="the body" tall />;
}
