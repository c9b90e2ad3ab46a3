-- A worker says which parameters its handlers take, so that a claim sends no run input that nobody reads. The calls that open
-- and change a session get a further parameter, so the earlier functions go.
alter table stepwell.worker_session add column handler_takes jsonb;
comment on column stepwell.worker_session.handler_takes is 'The names of the inputs that a handler of this worker takes, by operation; an operation that is not in it takes every input.';
drop function if exists stepwell.fn_worker_register;
drop function if exists stepwell.fn_worker_serves;
