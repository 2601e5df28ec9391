import { notice } from "../state/lab";

/** Does something that may fail, and shows the failure as one line. */
export function act(what: () => Promise<unknown> | void): void {
  const failed = (error: unknown): void => {
    notice.value = { text: error instanceof Error ? error.message : String(error), error: true };
  };
  // Called at once: an event loses its target afterwards.
  try {
    void Promise.resolve(what()).catch(failed);
  } catch (error) {
    failed(error);
  }
}
