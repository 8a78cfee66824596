/**
 * Bytes that are found by their SHA-256 (in hex), apart for each owner: nobody sees by it what others have stored. What is
 * stored never changes.
 */
export interface BlobStore {
  has(owner: string, digest: string): Promise<boolean>;
  /**
   * Stores bytes; they are there, and stay over a power cut, once it resolves. Nothing is stored otherwise. Safe to repeat and to do
   * several times at once.
   * @throws blob_invalid when the bytes are not what the digest says, disk_full
   */
  put(owner: string, digest: string, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** The bytes as they were stored. @throws blobs_missing when there are none of that digest */
  get(owner: string, digest: string): AsyncIterable<Uint8Array>;
  /** Nothing for what is not there. */
  delete(owner: string, digest: string): Promise<void>;
  /** Removes what was begun before that and never ended. */
  clean(before: Date): Promise<void>;
}
