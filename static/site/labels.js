// Texts used by several modules, and dates in the viewer's time zone, formatted as
// threads/rendering/labels.py does.

export const OFFLINE = "You're offline. Try again when you reconnect.";
export const REQUEST_FAILED = "That didn't work. Try again in a moment.";
export const UNDO = "Undo";

const zone = document.documentElement.dataset.zone || undefined;
const parts = new Intl.DateTimeFormat("en-GB", {
  timeZone: zone,
  weekday: "short",
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const plainDate = new Intl.DateTimeFormat("en-CA", { timeZone: zone });

/** The date in the viewer's time zone, as 2026-05-14. */
export const dayOf = (moment) => plainDate.format(moment);

export function timeLabel(moment) {
  const { hour, minute } = split(moment);
  return `${hour}:${minute}`;
}

export function dayLabel(moment, now = new Date()) {
  const days = daysBetween(moment, now);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  const { weekday, day, month, year } = split(moment);
  return `${weekday} ${day} ${month}${year === split(now).year ? "" : ` ${year}`}`;
}

export function rowLabel(moment, now = new Date()) {
  const days = daysBetween(moment, now);
  if (days === 0) return timeLabel(moment);
  if (days === 1) return "Yesterday";
  const { day, month, year } = split(moment);
  return `${day} ${month}${year === split(now).year ? "" : ` ${year}`}`;
}

/** Rounded, so that presence does not reveal the exact minute. */
export function presenceLabel(online, seenAt, now = new Date()) {
  if (online) return "Online";
  if (!seenAt) return "";
  const minutes = (now - new Date(seenAt)) / 60_000;
  if (minutes < 5) return "Active just now";
  if (minutes < 60) return `Active ${Math.floor(minutes / 5) * 5} min ago`;
  if (minutes < 24 * 60) return `Active ${Math.floor(minutes / 60)} h ago`;
  const days = Math.floor(minutes / (24 * 60));
  if (days < 30) return days === 1 ? "Active yesterday" : `Active ${days} days ago`;
  return "Not active lately";
}

function split(moment) {
  const values = Object.fromEntries(parts.formatToParts(moment).map((p) => [p.type, p.value]));
  return { ...values, month: values.month.slice(0, 3) };
}

function daysBetween(moment, now) {
  return Math.round((Date.parse(dayOf(now)) - Date.parse(dayOf(moment))) / 86_400_000);
}
