/** A day of a count as points of a line: the count holds until the next hour that changed it. */
export function trendPoints(hours: { at: string; open: number }[], now: number, before: number, width: number, height: number): string {
  const day = 86_400_000;
  const begin = now - day;
  const known = hours.map((hour) => ({ at: Math.max(begin, Date.parse(hour.at)), open: hour.open }));
  const most = Math.max(1, before, ...known.map((hour) => hour.open));
  const x = (at: number): string => (((at - begin) / day) * width).toFixed(1);
  const y = (open: number): string => (height - 1 - (open / most) * (height - 2)).toFixed(1);
  const points: string[] = [];
  let open = before;
  points.push(`${x(begin)},${y(open)}`);
  for (const hour of known) {
    points.push(`${x(hour.at)},${y(open)}`, `${x(hour.at)},${y(hour.open)}`);
    open = hour.open;
  }
  points.push(`${x(now)},${y(open)}`);
  return points.join(" ");
}
