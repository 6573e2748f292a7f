// Preselects the browser's time zone at sign-up.
const select = document.querySelector("select[name=time_zone]");
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (select && select.value === "UTC" && [...select.options].some((zone) => zone.value === browserZone)) {
  select.value = browserZone;
}
