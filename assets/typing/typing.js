// A text field that says what stands in it while one types, PAUSE_MS after the last key. The field itself is never redrawn, so
// focus and caret stay; a text that comes from the server replaces it only with a new version.
const PAUSE_MS = 150;
const fields = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const input = parentElement.querySelector("input");
  parentElement.querySelector("label").textContent = data.label;
  parentElement.querySelector("p").textContent = data.help;
  input.maxLength = data.longest;
  let field = fields.get(input);
  if (!field) {
    field = { version: null, timer: 0, said: null };
    fields.set(input, field);
    const say = () => {
      clearTimeout(field.timer);
      if (input.value === field.said) return;
      field.said = input.value;
      field.send("typed", { text: input.value, version: field.version });
    };
    input.addEventListener("input", (event) => {
      clearTimeout(field.timer);
      if (!event.isComposing) field.timer = setTimeout(say, PAUSE_MS);
    });
    input.addEventListener("compositionend", () => { field.timer = setTimeout(say, PAUSE_MS); });
    input.addEventListener("change", say);
  }
  field.send = setStateValue;
  if (field.version !== data.version) {
    field.version = data.version;
    field.said = input.value = data.text;
  }
}
