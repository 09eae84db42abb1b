/* Pages of another library, shown one at a time in a frame that may run scripts and reach nothing. */

const stored = JSON.parse(document.getElementById("payload").textContent);
const frame = document.querySelector("iframe[data-views]");
const buttons = [...document.querySelectorAll("button[data-view]")];

for (const button of buttons) {
  button.addEventListener("click", () => {
    const lines = stored.pages[button.dataset.view].map((number) => stored.lines[number]);
    frame.hidden = false;
    frame.srcdoc = lines.join("\n");
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
  });
}
