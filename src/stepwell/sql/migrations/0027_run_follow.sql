-- Somebody reads the events of a run as they come: until this time, changes of the run are notified.
alter table stepwell.run_progress add column followed_until timestamptz;
