-- What a run looks at again after each change is found by index, but for blocked steps and conditionals that wait: these are
-- found among all its steps, so only a run that has one looks for them.

alter table stepwell.run_progress add column watches_steps boolean not null default false;
comment on column stepwell.run_progress.watches_steps is 'A step is blocked, or a conditional waits for a step behind a cancelled one. Only together with needs_attention.';
update stepwell.run_progress set watches_steps = true where needs_attention;
