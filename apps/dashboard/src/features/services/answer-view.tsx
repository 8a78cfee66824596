import type { HostedService, ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import { useEffect, useState } from "react";
import { Alert } from "../../ui/alert.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { formatBytes, plural } from "../../ui/format.ts";
import { TextLink } from "../../ui/text-link.tsx";
import { FullFile } from "../files/file-view.tsx";
import type { ShownFile } from "../files/shown-file.ts";
import { formatMs } from "./format-ms.ts";
import { describeFile, filesOf, printBody, type Refusal } from "./read-answer.ts";

interface AnswerViewProps {
  readonly service: HostedService;
  readonly endpoint: string;
  readonly answer: ServiceCallAnswer;
  readonly refusal: Refusal | undefined;
}

/** The answer: status, time, body and headers, with a link to its log lines. */
export function AnswerView({ service, endpoint, answer, refusal }: AnswerViewProps) {
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
      <BodyView answer={answer} endpoint={endpoint} />
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

function BodyView({ answer, endpoint }: Pick<AnswerViewProps, "answer" | "endpoint">) {
  const { body, content, is_cut: isCut } = answer;
  if (content !== null) return <FileAnswer content={content} file={describeFile(answer)} />;
  if (body === null) {
    const reason = isCut ? "The body is too long to be shown here." : "The body is not text, so it is not shown.";
    return <p className="text-sm text-muted">{reason}</p>;
  }
  if (body === "") return <p className="text-sm text-muted">There is no body.</p>;
  const files = isCut ? [] : filesOf(body, endpoint);
  return (
    <>
      <CodeBlock title={isCut ? "Start of the body" : "Body"} text={printBody(answer)} what="the body" tall />
      {files.length > 0 && (
        <section aria-label="Files of the answer" className="grid gap-2">
          <p className="text-sm font-medium">{plural(files.length, "file")}</p>
          <ul className="flex flex-wrap items-start gap-4">
            {files.map((file) => (
              <li key={file.address} className="min-w-0">
                <FullFile file={file} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

interface FileAnswerProps {
  readonly content: string;
  readonly file: Omit<ShownFile, "address">;
}

/** An answer that is a file. */
function FileAnswer({ content, file }: FileAnswerProps) {
  const { kind, type = "" } = file;
  const [address, setAddress] = useState<string | undefined>(undefined);
  useEffect(() => {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    // a page at this address could act as the person: only what an element shows has its own type
    const made = URL.createObjectURL(new Blob([bytes], { type: kind === "document" ? "" : type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [content, kind, type]);
  return address !== undefined && <FullFile file={{ ...file, address }} />;
}
