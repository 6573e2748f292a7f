// Enables signing once the end of the contract was visible. Without scripts, a checkbox confirms it.

const form = document.querySelector("[data-sign]");
const end = document.querySelector("[data-read-end]");
document.documentElement.dataset.scripted = "";

if (form && end) {
  const button = form.querySelector("button");
  const hint = form.querySelector("[data-sign-hint]");
  const hasRead = form.elements.has_read;
  hasRead.closest(".field").hidden = true;
  let isRead = hasRead.checked;
  const show = () => {
    hasRead.checked = isRead;
    button.disabled = !isRead;
    hint.hidden = isRead;
  };
  new IntersectionObserver((entries) => {
    isRead ||= entries.some((entry) => entry.isIntersecting);
    show();
  }).observe(end);
  show();
}
