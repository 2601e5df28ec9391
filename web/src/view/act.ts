import { notice } from "../state/lab";

/** Does something that may fail, and shows the failure as one line. */
export function act(what: () => Promise<unknown> | void): void {
  Promise.resolve()
    .then(what)
    .catch((error: unknown) => {
      notice.value = { text: error instanceof Error ? error.message : String(error), error: true };
    });
}
