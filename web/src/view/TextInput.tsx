import { useState } from "preact/hooks";

interface Props {
  value: string;
  commit: (text: string) => void;
  class?: string;
  disabled?: boolean;
  placeholder?: string;
  title?: string;
  inputMode?: "decimal" | "text";
  "aria-label"?: string;
}

/** A text field that keeps what is being typed while the page is drawn again, and commits it when it is left or Enter is pressed. */
export function TextInput({ value, commit, ...attributes }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <input
      {...attributes}
      type="text"
      spellcheck={false}
      value={draft ?? value}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={() => setDraft(null)}
      onChange={(event) => {
        setDraft(null);
        commit(event.currentTarget.value.trim());
      }}
    />
  );
}
