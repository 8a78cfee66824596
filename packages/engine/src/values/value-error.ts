/** The reason why a value is invalid for its column, for people. A class, so that it is never mistaken for a value. */
export class ValueError {
  readonly detail: string;
  /** JSON pointer inside the value; empty for the value itself. */
  readonly pointer: string;
  /** Further errors of the same value. */
  readonly others: readonly ValueError[];

  constructor(detail: string, pointer = "", others: readonly ValueError[] = []) {
    this.detail = detail;
    this.pointer = pointer;
    this.others = others;
  }
}
