// Dates as people say them, in the reader's zone. threads/rendering/labels.py says the same.

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

/** The day of a moment in the reader's zone, as 2026-05-14. */
export const dayOf = (moment) => plainDate.format(moment);

export function timeLabel(moment) {
  const { hour, minute } = split(moment);
  return `${hour}:${minute}`;
}

export function dayLabel(moment, now = new Date()) {
  const distance = daysBetween(moment, now);
  if (distance === 0) return "Today";
  if (distance === 1) return "Yesterday";
  const { weekday, day, month, year } = split(moment);
  return `${weekday} ${day} ${month}${year === split(now).year ? "" : ` ${year}`}`;
}

export function rowLabel(moment, now = new Date()) {
  const distance = daysBetween(moment, now);
  if (distance === 0) return timeLabel(moment);
  if (distance === 1) return "Yesterday";
  const { day, month, year } = split(moment);
  return `${day} ${month}${year === split(now).year ? "" : ` ${year}`}`;
}

/** How long ago somebody was there: a hint, so not to the minute. */
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
  const found = Object.fromEntries(parts.formatToParts(moment).map((p) => [p.type, p.value]));
  return { ...found, month: found.month.slice(0, 3) };
}

function daysBetween(moment, now) {
  return Math.round((Date.parse(dayOf(now)) - Date.parse(dayOf(moment))) / 86_400_000);
}
