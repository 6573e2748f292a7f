// A password is asked for once, so one can look at what was typed.
for (const button of document.querySelectorAll("[data-reveal]")) {
  const input = document.getElementById(button.getAttribute("aria-controls"));
  button.hidden = false;
  button.addEventListener("click", () => {
    const shown = input.type === "text";
    input.type = shown ? "password" : "text";
    button.setAttribute("aria-pressed", String(!shown));
    input.focus();
  });
  // Never sent as a plain text field, which browsers would remember.
  input.form?.addEventListener("submit", () => (input.type = "password"));
}
