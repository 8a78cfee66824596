const LENGTH_BYTES = 4;
const HEAD_BYTES = 5;

/** The message of PostgreSQL's protocol that ends a connection with a reason. */
export function fatalResponse(sqlstate: string, text: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlstate}\0M${text.replaceAll("\0", "")}\0\0`);
  const head = Buffer.alloc(HEAD_BYTES);
  head.write("E");
  head.writeUInt32BE(LENGTH_BYTES + fields.length, 1);
  return Buffer.concat([head, fields]);
}
