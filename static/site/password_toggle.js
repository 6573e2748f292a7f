// Shows and hides the typed password, because forms ask for it only once.
for (const button of document.querySelectorAll("[data-reveal]")) {
  const input = document.getElementById(button.getAttribute("aria-controls"));
  button.hidden = false;
  button.addEventListener("click", () => {
    const shown = input.type === "text";
    input.type = shown ? "password" : "text";
    button.setAttribute("aria-pressed", String(!shown));
    input.focus();
  });
  // Browsers would offer the value of a submitted text field again.
  input.form?.addEventListener("submit", () => (input.type = "password"));
}
