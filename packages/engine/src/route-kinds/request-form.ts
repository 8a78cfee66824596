import { appError } from "@appdb/contract/errors";
import type { ColumnType, MediaKind } from "@appdb/contract/types";
import type { RowLayout } from "../compute/row-layout.ts";
import { kindOf } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import type { ReceivedForm, UploadedFile } from "../ports.ts";
import type { ReceiveForm, RouteRequest } from "../routes/route.ts";
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
  /** The same body before any file is stored, to check its fields. */
  unstored(): ParsedBody;
  /** Stores all files. Returns the form for a later request. @throws as `body` */
  store(): Promise<string>;
}

/** Whether a request is a form. */
export function isForm({ headers, stream, form }: RouteRequest): boolean {
  if (form !== undefined) return true;
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
  const kindFor = ({ field }: UploadedFile): MediaKind => {
    const kind = fieldOf(field)?.type.kind;
    if (kind === undefined || !isMedia(kind)) throw new TypeError(`${field} holds no media.`);
    return kind;
  };
  /** An empty field is null where its type has no empty text. */
  const memberOf = (name: string, text: string): string | null => {
    const field = fieldOf(name);
    return text === "" && field?.nullable === true && !kindOf(field.type).hasEmptyText ? null : text;
  };
  return async (request) => {
    const { signal } = request;
    if (request.form !== undefined) return storedForm(request.form);
    const type = String(request.headers["content-type"]);
    const limits = { field_bytes: fieldBytes, file_bytes: fileBytes, files, body_bytes: lengthOf(request) };
    const form = await forms.read(request.stream ?? EMPTY, type, limits);
    const withFiles = async (cellOf: (file: UploadedFile) => Promise<string>): Promise<StoredForm> => {
      refuseRepeated(form);
      const files: [string, string][] = [];
      for (const file of form.files) files.push([file.field, await cellOf(file)]);
      return { fields: form.fields.map(([name, text]) => [name, memberOf(name, text)]), files };
    };
    const keep = (file: UploadedFile) => media.receive(file, kindFor(file), signal);
    return {
      content: contentOf(form),
      body: async () =>
        bodyOf(await withFiles((file) => (isKept(file.field) ? keep(file) : media.borrow(file, kindFor(file))))),
      unstored() {
        refuseRepeated(form);
        const fields = form.fields.map(([name, text]) => [name, memberOf(name, text)] as const);
        return bodyOf({ fields, files: form.files.map(({ field }) => [field, ""]) });
      },
      store: async () => JSON.stringify(await withFiles(keep)),
      [Symbol.asyncDispose]: () => form[Symbol.asyncDispose](),
    };
  };
}

function lengthOf({ headers }: RouteRequest): number | undefined {
  const length = headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

/** A form whose files are stored, as a job keeps it. Files are cells. */
interface StoredForm {
  readonly fields: readonly (readonly [name: string, value: string | null])[];
  readonly files: readonly (readonly [name: string, cell: string])[];
}

function storedForm(text: string): RequestForm {
  const body = bodyOf(JSON.parse(text) as StoredForm);
  return {
    content: text,
    body: async () => body,
    unstored: () => body,
    store: async () => text,
    async [Symbol.asyncDispose]() {},
  };
}

function bodyOf({ fields, files }: StoredForm): ParsedBody {
  const members: Record<string, unknown> = Object.create(null);
  for (const [name, value] of fields) members[name] = value;
  for (const [name, cell] of files) members[name] = new StoredMedia(cell);
  return { members, raw: (name) => JSON.stringify(members[name] ?? null), is_form: true };
}

/** How a background route receives the forms of a route that reads them by `check`. */
export function receiveLater(
  receive: ((request: RouteRequest) => Promise<RequestForm>) | undefined,
  check: (body: ParsedBody, request: RouteRequest) => unknown,
): ReceiveForm | undefined {
  if (receive === undefined) return undefined;
  return async (request) => {
    const form = await receive(request);
    return {
      content: form.content,
      check: () => void check(form.unstored(), request),
      store: () => form.store(),
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
