let id: string | null = null;

/** The approval that was looked at last, so that the list can go on from there; taken once. */
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
