/** Reads the msgpack that `PackSheet` writes. */
// biome-ignore lint/suspicious/noExplicitAny: tests compare what they read
export function unpack(bytes: Buffer): any {
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const list = (length: number): unknown[] => Array.from({ length }, () => read());
  const map = (length: number) => Object.fromEntries(Array.from({ length }, () => [read(), read()]));
  const read = (): unknown => {
    const head = take(1)[0] as number;
    if (head < 0x80) return head;
    if (head >= 0xe0) return head - 0x100;
    if (head < 0x90) return map(head & 15);
    if (head < 0xa0) return list(head & 15);
    if (head < 0xc0) return take(head & 31).toString();
    switch (head) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc6:
        return Buffer.from(take(take(4).readUInt32BE()));
      case 0xcb:
        return take(8).readDoubleBE();
      case 0xce:
        return take(4).readUInt32BE();
      case 0xd2:
        return take(4).readInt32BE();
      case 0xd3:
        return take(8).readBigInt64BE();
      case 0xdb:
        return take(take(4).readUInt32BE()).toString();
      case 0xdd:
        return list(take(4).readUInt32BE());
      case 0xdf:
        return map(take(4).readUInt32BE());
      default:
        throw new Error(`The byte ${head} begins no value.`);
    }
  };
  return read();
}
