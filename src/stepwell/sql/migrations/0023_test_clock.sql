-- The clock of a test can stand still: between two moves no time passes, however long the test takes.

alter table stepwell.clock_shift add column stopped_at timestamptz;
comment on column stepwell.clock_shift.stopped_at is 'Null: the clock runs. Otherwise the time at which it was stopped; shift still moves it.';
