/**
 * Four bytes as PostgreSQL sends a length: -1 for null, or less than 2^31. The bytes must exist. The runtime's own
 * function is several times slower.
 */
export function readInt32(bytes: Buffer, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
