import { appError } from "@appdb/contract/errors";
import type { ColumnType } from "@appdb/contract/types";
import type { RowLayout } from "../compute/row-layout.ts";
import { kindOf } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import type { ReceivedForm, UploadedFile } from "../ports.ts";
import type { RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import type { ParsedBody } from "../rows/parse-body.ts";
import { StoredMedia } from "../values/stored-media.ts";

/** The content type of forms with files. */
export const FORM_TYPE = "multipart/form-data";

/** The fields of a route's forms. */
export interface FormInput {
  /** Fields that can be files; none for a route without uploads. */
  readonly uploads: readonly string[] | undefined;
  /** What a field holds; undefined for one that the route lacks. */
  fieldOf(name: string): { readonly type: ColumnType; readonly nullable: boolean } | undefined;
  /** Whether the file of a field is stored. Otherwise it exists until the request ends. */
  isKept(name: string): boolean;
}

/** What came as a form: a row, a change of one, or parameters. Disposing removes its files that were not stored. */
export interface RequestForm extends AsyncDisposable {
  /** The fields and the hashes of the files: what makes two requests equal. */
  readonly content: string;
  /** Stores the files. Returns the body for the reader of the request. @throws media_invalid, media_store_full and others */
  body(): Promise<ParsedBody>;
}

/** Whether a request is a form. */
export function isForm({ headers, stream }: RouteRequest): boolean {
  const type = headers["content-type"];
  return stream !== undefined && typeof type === "string" && type.toLowerCase().startsWith(FORM_TYPE);
}

/** Receives the forms of a route that takes uploads; undefined for any other route. */
export function compileForms(
  context: RouteContext,
  { uploads: files = [], fieldOf, isKept }: FormInput,
): ((request: RouteRequest) => Promise<RequestForm>) | undefined {
  const { forms, media } = context.deps;
  if (files.length === 0 || forms === undefined || media === undefined) return undefined;
  const { body_bytes: fieldBytes, upload_bytes: fileBytes } = context.limits;
  const cellOf = (file: UploadedFile, signal: AbortSignal | undefined): Promise<string> => {
    const kind = fieldOf(file.field)?.type.kind;
    if (kind === undefined || !isMedia(kind)) throw new TypeError(`${file.field} holds no media.`);
    return isKept(file.field) ? media.receive(file, kind, signal) : media.borrow(file, kind);
  };
  /** An empty field is null where its type has no empty text. */
  const memberOf = (name: string, text: string): string | null => {
    const field = fieldOf(name);
    return text === "" && field?.nullable === true && !kindOf(field.type).hasEmptyText ? null : text;
  };
  return async (request) => {
    const type = String(request.headers["content-type"]);
    const limits = { field_bytes: fieldBytes, file_bytes: fileBytes, files };
    const form = await forms.read(request.stream ?? EMPTY, type, limits);
    return {
      content: contentOf(form),
      async body() {
        refuseRepeated(form);
        const members: Record<string, unknown> = Object.create(null);
        for (const [name, text] of form.fields) members[name] = memberOf(name, text);
        for (const file of form.files) members[file.field] = new StoredMedia(await cellOf(file, request.signal));
        return { members, raw: (name) => JSON.stringify(members[name] ?? null), is_form: true };
      },
      [Symbol.asyncDispose]: () => form[Symbol.asyncDispose](),
    };
  };
}

/** The fields of forms with values of a row. */
export function rowFields({ slots, index }: RowLayout): FormInput["fieldOf"] {
  return (name) => slots[index.get(name) ?? -1];
}

const EMPTY: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} };

function contentOf({ fields, files }: ReceivedForm): string {
  return JSON.stringify([fields, files.map(({ field, name, sha256 }) => [field, name, sha256])]);
}

function refuseRepeated({ fields, files }: ReceivedForm): void {
  const seen = new Set<string>();
  for (const name of [...fields.map(([field]) => field), ...files.map(({ field }) => field)]) {
    if (seen.has(name)) {
      throw appError("invalid_request", {
        detail: `The form has several parts "${name}".`,
        hint: "Send one part for each field. Each file needs a column of its own.",
        errors: [{ pointer: `/${name}`, detail: "This field is given twice." }],
      });
    }
    seen.add(name);
  }
}
