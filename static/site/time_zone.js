// The browser knows where it is; nobody should have to look for their zone in a long list.
const zones = document.querySelector("select[name=time_zone]");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zones && zones.value === "UTC" && [...zones.options].some((zone) => zone.value === here)) {
  zones.value = here;
}
