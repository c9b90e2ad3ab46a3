let id: string | null = null;

/** The approval that was opened last, so that the list can set the focus on it; it is read once. */
export const lastOpened = {
  put(opened: string): void {
    id = opened;
  },
  take(): string | null {
    const taken = id;
    id = null;
    return taken;
  },
};
