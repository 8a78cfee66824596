/** Why a value does not fit its column, for people. A class, so that it cannot be mistaken for a value. */
export class ValueError {
  readonly detail: string;
  /** JSON pointer inside the value; empty for the value itself. */
  readonly pointer: string;
  /** Further places of the same value that do not fit. */
  readonly others: readonly ValueError[];

  constructor(detail: string, pointer = "", others: readonly ValueError[] = []) {
    this.detail = detail;
    this.pointer = pointer;
    this.others = others;
  }
}
