import type { HostedService, ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import { useState } from "react";
import type { Api } from "../../api/api.tsx";
import { pause } from "../../api/pause.ts";
import { type Action, useAction } from "../../api/use-action.ts";
import { Alert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { Card, Section } from "../../ui/page.tsx";
import { AnswerView } from "./answer-view.tsx";
import { type BuiltCall, buildCall, fieldKey } from "./build-call.ts";
import { callCommand } from "./call-command.ts";
import { CallKeyField } from "./call-key-field.tsx";
import { FieldInput } from "./field-input.tsx";
import { problemOf, readRefusal } from "./read-answer.ts";
import type { RouteForm } from "./route-form.ts";
import { type CallKey, useCallKey } from "./use-call-key.ts";

/** A gateway may not have a new key yet within this time. */
const NEW_MS = 3_000;
const PAUSE_MS = 200;

interface CallInput {
  readonly call: BuiltCall;
  readonly key: CallKey;
}

/** The request and the answer of a call. */
interface Called {
  readonly call: BuiltCall;
  readonly answer: ServiceCallAnswer;
}

/** Sends requests to a service through the control plane, like a client. */
function useCall(service: HostedService): Action<CallInput, Called> {
  return useAction(async (api, { call, key }: CallInput) => {
    for (;;) {
      const answer = await send(api, service, call, key);
      const isNew = key.created !== null && Date.now() - key.created.at < NEW_MS;
      // it was refused before it reached the service, so a retry is safe
      if (answer.status !== 401 || !isNew) return { call, answer };
      await pause(PAUSE_MS, new AbortController().signal);
    }
  });
}

async function send(
  api: Api,
  service: HostedService,
  { form, ...call }: BuiltCall,
  key: CallKey,
): Promise<ServiceCallAnswer> {
  const params = { org: service.organization, db: service.database, service: service.name };
  return await api.control.call("serviceCall", {
    params,
    body: { ...call, ...(await encodeForm(call, form)), api_key: key.text },
  });
}

/** The form as the bytes that a browser would send, in base64. */
async function encodeForm({ headers }: Pick<BuiltCall, "headers">, form: BuiltCall["form"]) {
  if (form === null) return {};
  const data = new FormData();
  for (const { name, value } of form) data.append(name, value);
  const sent = new Response(data);
  const type = sent.headers.get("content-type") ?? "";
  const body = await toBase64(await sent.blob());
  return { headers: { ...headers, "content-type": type }, body, encoding: "base64" as const };
}

function toBase64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error("The file could not be read. Choose it again.", { cause: reader.error }));
    reader.readAsDataURL(blob);
  });
}

interface CallFormProps {
  readonly service: HostedService;
  readonly endpoint: string;
  readonly form: RouteForm;
}

/** Sends a request from the form's fields and shows the answer. */
export function CallForm({ service, endpoint, form }: CallFormProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [files, setFiles] = useState<Readonly<Record<string, File | undefined>>>({});
  const [body, setBody] = useState<string | undefined>(undefined);
  const [isTried, setTried] = useState(false);
  const key = useCallKey(service);
  const sending = useCall(service);
  const { call, problems } = buildCall(form, {
    valueOf: (field) => values[fieldKey(field)] ?? "",
    fileOf: (field) => files[fieldKey(field)],
    body,
  });
  const answer = sending.result?.answer;
  const refusal = answer && readRefusal(answer);
  const shown = form.fields.filter(({ place }) => place !== "body" || body === undefined);
  const hasFields = form.fields.some(({ place }) => place === "body");
  const isWhole = form.has_body && (body !== undefined || !hasFields);
  return (
    <>
      <Section title="Request">
        <Card>
          <Form
            error={sending.error}
            onSubmit={() => {
              setTried(true);
              if (problems.size === 0) sending.run({ call, key: key.key });
            }}
          >
            <CallKeyField
              service={service}
              state={key}
              problem={answer?.status === 401 || answer?.status === 403 ? refusal?.detail : undefined}
            />
            {shown.map((field) => (
              <FieldInput
                key={fieldKey(field)}
                field={field}
                value={values[fieldKey(field)] ?? ""}
                problem={(isTried ? problems.get(fieldKey(field)) : undefined) ?? problemOf(refusal, field.name)}
                onChange={(value) => setValues({ ...values, [fieldKey(field)]: value })}
                onFile={(file) => setFiles({ ...files, [fieldKey(field)]: file })}
              />
            ))}
            {isWhole && (
              <TextArea
                label="Body, as JSON"
                rows={Math.min(16, Math.max(5, (body ?? "").split("\n").length))}
                value={body ?? ""}
                onChange={(event) => setBody(event.target.value)}
                problem={problems.get("body")}
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
                className="font-mono text-sm"
                help="It is sent as written, numbers with all digits."
              />
            )}
            {form.other_type !== undefined && (
              <Alert kind="note" title={`The route takes ${form.other_type}: call it from a terminal or a program.`} />
            )}
            <div className="flex flex-wrap gap-2.5">
              <Button type="submit" look="primary" busy={sending.pending} disabled={form.other_type !== undefined}>
                Call
              </Button>
              {hasFields && (
                <Button
                  onClick={() => {
                    // the inputs of files are made again, and are empty then
                    setFiles({});
                    setBody(body === undefined ? (call.body ?? "{}") : undefined);
                  }}
                >
                  {body === undefined ? "Write the body as JSON" : "Back to the fields"}
                </Button>
              )}
            </div>
          </Form>
        </Card>
      </Section>
      {answer && (
        <Section title="Answer">
          <Card>
            <AnswerView service={service} endpoint={endpoint} answer={answer} refusal={refusal} />
          </Card>
        </Section>
      )}
      <CodeBlock title="The same from a terminal" text={callCommand(endpoint, call)} what="the curl command" />
    </>
  );
}
