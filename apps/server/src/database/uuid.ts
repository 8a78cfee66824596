const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text of a path can be an id: PostgreSQL refuses others with an error. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
