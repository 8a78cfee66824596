const LENGTH_BYTES = 4;
const HEAD_BYTES = 5;

export interface PostgresError {
  readonly severity: string;
  readonly sqlstate: string;
  readonly message: string;
  readonly hint?: string;
}

/** The message of PostgreSQL's protocol for an error. */
export function errorResponse({ hint, message, severity, sqlstate }: PostgresError): Buffer {
  const texts = { S: severity, V: severity, C: sqlstate, M: message, ...(hint === undefined ? {} : { H: hint }) };
  const fields = Object.entries(texts).map(([field, text]) => `${field}${text.replaceAll("\0", "")}\0`);
  const body = Buffer.from(`${fields.join("")}\0`);
  const head = Buffer.alloc(HEAD_BYTES);
  head.write("E");
  head.writeUInt32BE(LENGTH_BYTES + body.length, 1);
  return Buffer.concat([head, body]);
}

/** The message that ends a connection with a reason. */
export function fatalResponse(sqlstate: string, text: string): Buffer {
  return errorResponse({ severity: "FATAL", sqlstate, message: text });
}

/** The fields of a whole message for an error. */
export function readErrorResponse(response: Buffer): PostgresError {
  const fields = response
    .toString("utf8", HEAD_BYTES)
    .split("\0")
    .map((field) => [field.charAt(0), field.slice(1)] as const);
  const of = new Map(fields);
  return { severity: of.get("V") ?? "ERROR", sqlstate: of.get("C") ?? "", message: of.get("M") ?? "" };
}
